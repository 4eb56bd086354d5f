package pushtest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// decrypt opens an aes128gcm body (RFC 8188) that is addressed to a browser's
// key and auth secret (RFC 8291): one record only.
func decrypt(key *ecdh.PrivateKey, auth, body []byte) ([]byte, error) {
	// RFC 8188 section 2.1: salt (16), record size (4), length of key id (1), key id.
	const saltLen, keyLen, tagLen = 16, 65, 16
	const headerLen = saltLen + 4 + 1 + keyLen
	if len(body) < headerLen+tagLen+1 {
		return nil, errors.New("too short")
	}
	salt, size, idLen := body[:saltLen], binary.BigEndian.Uint32(body[saltLen:]), body[saltLen+4]
	if idLen != keyLen {
		return nil, fmt.Errorf("key id of %d bytes", idLen)
	}
	id, record := body[saltLen+5:headerLen], body[headerLen:]
	if size < tagLen+2 || uint64(len(record)) > uint64(size) {
		return nil, fmt.Errorf("%d bytes in records of %d; RFC 8291 section 4 allows one record", len(record), size)
	}
	sender, err := ecdh.P256().NewPublicKey(id)
	if err != nil {
		return nil, fmt.Errorf("sender's key: %w", err)
	}
	shared, err := key.ECDH(sender)
	if err != nil {
		return nil, fmt.Errorf("shared secret: %w", err)
	}
	// RFC 8291 section 3.4.
	info := "WebPush: info\x00" + string(key.PublicKey().Bytes()) + string(id)
	input, err := hkdf.Key(sha256.New, shared, auth, info, 32)
	if err != nil {
		return nil, err
	}
	contentKey, err := hkdf.Key(sha256.New, input, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, input, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(contentKey)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	padded, err := aead.Open(nil, nonce, record, nil)
	if err != nil {
		return nil, err
	}
	// RFC 8188 section 2: the last record ends in 2 and zeros.
	plaintext := bytes.TrimRight(padded, "\x00")
	if len(plaintext) == 0 || plaintext[len(plaintext)-1] != 2 {
		return nil, errors.New("no delimiter of a last record")
	}
	return plaintext[:len(plaintext)-1], nil
}

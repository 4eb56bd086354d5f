package push

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// keyFile is the name of the key pair in the data directory.
const keyFile = "vapid.json"

// Keys is a VAPID key pair (RFC 8292). Browsers subscribe under the public key;
// a push service takes messages only from the holder of the private one. It is
// made by ParseKeys, LoadOrCreateKeys or NewKeys, so its halves always match.
type Keys struct {
	id              string
	public, private string // base64url without padding: 65 and 32 bytes
	signer          *ecdsa.PrivateKey
}

// NewKeys makes a new pair.
func NewKeys() (Keys, error) {
	k, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return Keys{}, fmt.Errorf("push: make VAPID keys: %w", err)
	}
	return ParseKeys(base64.RawURLEncoding.EncodeToString(k.PublicKey().Bytes()), base64.RawURLEncoding.EncodeToString(k.Bytes()))
}

// ParseKeys reads a pair in base64 (url-safe or standard, padded or not) and
// checks that the halves belong together: with a mismatched pair every browser
// would subscribe and no message would ever arrive.
func ParseKeys(public, private string) (Keys, error) {
	rawPrivate, err := decodeBase64(private)
	if err != nil || len(rawPrivate) != 32 {
		return Keys{}, errors.New("the VAPID private key must be 32 bytes in base64url; `sokone vapid` makes a pair")
	}
	rawPublic, err := decodeBase64(public)
	if err != nil || len(rawPublic) != 65 {
		return Keys{}, errors.New("the VAPID public key must be 65 bytes in base64url; `sokone vapid` makes a pair")
	}
	k, err := ecdh.P256().NewPrivateKey(rawPrivate)
	if err != nil {
		return Keys{}, errors.New("the VAPID private key is no P-256 key; `sokone vapid` makes a pair")
	}
	if !bytes.Equal(k.PublicKey().Bytes(), rawPublic) {
		return Keys{}, errors.New("the VAPID public key does not belong to the private key; give the two halves of one pair")
	}
	signer, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), rawPrivate)
	if err != nil {
		return Keys{}, errors.New("the VAPID private key is no P-256 key; `sokone vapid` makes a pair")
	}
	sum := sha256.Sum256(rawPublic)
	return Keys{
		id:      base64.RawURLEncoding.EncodeToString(sum[:9]),
		public:  base64.RawURLEncoding.EncodeToString(rawPublic),
		private: base64.RawURLEncoding.EncodeToString(rawPrivate),
		signer:  signer,
	}, nil
}

// Public is the public key in base64url: a browser's applicationServerKey.
func (k Keys) Public() string { return k.public }

// Private is the private key in base64url. Only the command that shows the
// keys to the operator has a reason to ask for it.
func (k Keys) Private() string { return k.private }

// ID names the pair in a few characters. It is stored with each subscription,
// to know later under which key the browser made it.
func (k Keys) ID() string { return k.id }

// Derive makes a secret of 32 bytes for another purpose, which lasts as long as
// the pair (HKDF, RFC 5869).
func (k Keys) Derive(purpose string) []byte {
	secret, err := hkdf.Key(sha256.New, []byte(k.private), nil, "sokone "+purpose, 32)
	if err != nil {
		panic(err) // only a length beyond 255 hashes fails
	}
	return secret
}

// String hides the private key from logs and error messages.
func (k Keys) String() string { return "VAPID key " + k.ID() }

// GoString hides it from %#v too.
func (k Keys) GoString() string { return k.String() }

// storedKeys is the content of the key file.
type storedKeys struct {
	PublicKey  string `json:"public_key"`
	PrivateKey string `json:"private_key"`
}

// LoadOrCreateKeys reads the pair from vapid.json in dir, and makes it first
// where there is none. Processes that start at once on one directory end up
// with the same pair. A file that cannot be read is an error and never
// replaced: with another key all subscriptions would be lost.
func LoadOrCreateKeys(dir string) (Keys, error) {
	path := filepath.Join(dir, keyFile)
	keys, err := loadKeys(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	if keys, err = NewKeys(); err != nil {
		return Keys{}, err
	}
	if err := createKeyFile(dir, path, keys); err != nil {
		return Keys{}, fmt.Errorf("push: write the VAPID keys to %s: %w", path, err)
	}
	return loadKeys(path) // another process may have been first
}

// LoadKeys reads the pair from vapid.json in dir. Where there is none, the error
// is fs.ErrNotExist. A server that is given other keys serves those subscriptions
// of before with it: see Options.Former.
func LoadKeys(dir string) (Keys, error) { return loadKeys(filepath.Join(dir, keyFile)) }

func loadKeys(path string) (Keys, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Keys{}, fmt.Errorf("push: read the VAPID keys: %w", err)
	}
	var stored storedKeys
	if err := json.Unmarshal(data, &stored); err != nil {
		return Keys{}, fmt.Errorf("push: %s is no key file (%w); restore it from a backup: under another key all subscriptions are lost", path, err)
	}
	keys, err := ParseKeys(stored.PublicKey, stored.PrivateKey)
	if err != nil {
		return Keys{}, fmt.Errorf("push: %s: %w", path, err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		// Where the file system keeps no modes, it stays as it is.
		_ = os.Chmod(path, 0o600)
	}
	return keys, nil
}

// createKeyFile writes the whole file aside and gives it its name in one step
// that fails where the name exists: nobody reads half a file, nobody's is replaced.
func createKeyFile(dir, path string, keys Keys) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	data, err := json.MarshalIndent(storedKeys{keys.public, keys.private}, "", "  ")
	if err != nil {
		return err
	}
	aside, err := os.CreateTemp(dir, keyFile+".*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(aside.Name())
	_, err = aside.Write(append(data, '\n'))
	if err = errors.Join(err, aside.Sync(), aside.Close()); err != nil {
		return err
	}
	switch err := os.Link(aside.Name(), path); {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		// A file system without hard links: the whole file still appears at once.
		if err := os.Rename(aside.Name(), path); err != nil {
			return err
		}
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	_ = d.Sync() // not every file system lets a directory be synced
	return nil
}

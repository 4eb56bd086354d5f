// Written by third_party/refresh: the one module that names this vendored file.
export { generate } from '../third_party/lean-qr-2.7.4.9f064e870e.mjs';

import { readFileSync } from 'node:fs';

/** A property of TLS options that reads its file for each connection. A file that cannot be read counts as unchanged; throws where it cannot be read at first. */
export function fileAsProperty(path: string): PropertyDescriptor {
  let content = readFileSync(path);
  const get = () => {
    try {
      content = readFileSync(path);
    } catch {
      // The file is being replaced, or is gone: what was read before is still the best there is.
    }
    return content;
  };
  return { get, enumerable: true, configurable: true };
}

/** Whether an error, by its code, is the failure of a TLS handshake. */
export function isTlsCode(code: string): boolean {
  return /^(?:ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA|HOSTNAME_)/.test(code);
}

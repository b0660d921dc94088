import type { EnvironmentReader } from './environment.ts';

/** Reads `ELIGO_PUBLIC_URL`, at which shoppers reach the gateway, without a slash at its end. */
export function readPublicUrl(env: EnvironmentReader): string {
  const base = env.url('ELIGO_PUBLIC_URL').replace(/\/+$/, '');
  if (URL.canParse(base) && !isPlainUrl(base, env.stage)) {
    env.problem(
      'ELIGO_PUBLIC_URL must be an https URL without query or fragment; http is allowed for this machine only',
    );
  }
  return base;
}

/**
 * Whether this is a URL without query or fragment, and https: what is sent with it, such as the token of a page, which pays, or a file, crosses no network
 * unencrypted. In production http is for this machine only.
 */
export function isPlainUrl(text: string, stage: EnvironmentReader['stage']): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, search, hash } = new URL(text);
  if (search !== '' || hash !== '') return false;
  if (protocol === 'https:') return true;
  return protocol === 'http:' && (stage !== 'production' || loopback.test(hostname));
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

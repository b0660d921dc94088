import { expect, it } from 'vitest';
import { gatewayHost, gatewayUrl } from '../src/address.ts';

it.each([
  [{}, 'http://127.0.0.1:8080'],
  [{ HOST: '' }, 'http://127.0.0.1:8080'],
  [{ HOST: 'localhost' }, 'http://localhost:8080'],
  [{ HOST: '0.0.0.0' }, 'http://127.0.0.1:8080'],
  [{ HOST: '::' }, 'http://127.0.0.1:8080'],
  [{ HOST: '::1' }, 'http://[::1]:8080'],
])('a gateway with %j is reached by %s', (environment, url) =>
  expect(gatewayUrl(gatewayHost(environment), 8080)).toBe(url),
);

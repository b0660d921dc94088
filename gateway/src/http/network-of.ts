import type { IncomingMessage } from 'node:http';
import { clientNetwork } from './client-network.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

/** The network by which a request is limited. Several `X-Forwarded-For` headers are one list, in their order. */
export function networkOf({ socket, headers }: IncomingMessage, proxies: TrustedProxies): string {
  return clientNetwork(proxies.clientOf(socket.remoteAddress ?? 'unknown', headers['x-forwarded-for']?.toString()));
}

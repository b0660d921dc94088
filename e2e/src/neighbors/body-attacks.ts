import { connect, type Socket } from 'node:net';
import { limits } from '@eligo/contract';
import { form } from '@eligo/gateway/probes';
import type { Api } from '@eligo/testkit';
import { record, text } from '../records.ts';
import { type Attack, sharedBy } from './attack.ts';
import type { AttackingAccount } from './attacking-account.ts';
import { type AttackReport, flood, type Prepared } from './flood.ts';
import { get, post, send } from './prepared.ts';

/** Large bodies: refused, held open, uploaded and downloaded. */
export const bodyAttacks: readonly Attack[] = [
  sending('bodies of 1 MB that are refused', async () =>
    post('/v1/products', { product: { name: 'x', metadata: { filler: 'x'.repeat(1_000_000) } } }),
  ),
  {
    name: 'bodies of 1 MB that stall before their last byte',
    prepare: async ({ api, perSecond }) => stallBodies.bind(undefined, api, perSecond * 1.2),
  },
  sending('uploads of 10 MB', async () => largestUpload),
  sending('downloads of 10 MB', async (account) => get(`/v1/files/${await uploadedFile(account)}/content`)),
];

function sending(name: string, requestOf: (account: AttackingAccount) => Promise<Prepared>): Attack {
  return {
    name,
    async prepare(account) {
      const request = await requestOf(account);
      return (signal) => flood(signal, account.perSecond * 1.2, () => send(account.api, request));
    },
  };
}

/** Holds as many bodies open as are not refused, until the attack is over. What is refused is tried again, as often as the key admits. */
async function stallBodies(api: Api, perSecond: number, signal: AbortSignal): Promise<AttackReport> {
  const held = new Set<Socket>();
  const stalled = (): Promise<number | undefined> => {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname, () => {
      const key = `Authorization: Bearer ${api.key}\r\nContent-Type: application/json\r\n`;
      socket.write(`POST /v1/products HTTP/1.1\r\nHost: a\r\n${key}Content-Length: ${limits.bodyBytes}\r\n\r\n`);
      socket.write(allButOneByte);
    });
    held.add(socket);
    socket.on('error', reject).on('close', () => {
      held.delete(socket);
      resolve(undefined);
    });
    socket.once('data', (answer) => {
      resolve(Number(answer.toString('latin1', 9, 12)));
      socket.destroy();
    });
    return promise;
  };
  signal.addEventListener('abort', () => {
    for (const socket of held) socket.destroy();
  });
  return flood(signal, perSecond, stalled);
}

const allButOneByte = Buffer.alloc(limits.bodyBytes - 1, 'x');

const largestUpload = uploadOf('application/pdf', Buffer.from('%PDF-1.4\n'), limits.fileBytes);

/** A file of so many bytes, which begin as those of its type do. */
export function uploadOf(type: string, start: Buffer, bytes: number): Prepared {
  const parts = [
    { name: 'purpose', content: 'dispute_evidence' },
    {
      name: 'file',
      filename: 'receipt',
      type,
      content: Buffer.concat([start, Buffer.alloc(bytes - start.length, 'x')]),
    },
  ];
  const { body, headers } = form(parts);
  return { method: 'POST', path: '/v1/files', headers, body: Buffer.from(body) };
}

/** Uploads a file, and answers its id. */
export async function upload({ url, key }: Api, { method, path, headers, body }: Prepared): Promise<string> {
  const sent = { method, headers: { ...headers, authorization: `Bearer ${key}` }, body: new Uint8Array(body ?? []) };
  const answer = await fetch(url + path, sent);
  return text(record((await answer.json()) as Record<string, unknown>, 'file'), 'file_id');
}

const uploadedFile = sharedBy(({ unlimited }: AttackingAccount) => upload(unlimited, largestUpload));

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Forwarded, type Forwarder, startForwarder } from '../src/forwarder.ts';

let target: Server;
let forwarder: Forwarder;
let status: number;
let received: { headers: IncomingHttpHeaders; body: string }[];
let forwarded: Forwarded[];

beforeEach(async () => {
  status = 200;
  received = [];
  forwarded = [];
  target = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
    response.writeHead(status).end();
  });
  target.listen(0, '127.0.0.1');
  await once(target, 'listening');
  const { port } = target.address() as AddressInfo;
  forwarder = await startForwarder(`http://127.0.0.1:${port}/hook`, (event) => forwarded.push(event));
});

afterEach(async () => {
  await forwarder.stop();
  target.close();
});

const body = '{"event_id":"fevt_1",  "event_type":"invoice.paid"}';
const headers = {
  'webhook-id': 'fevt_1',
  'webhook-timestamp': '1',
  'webhook-signature': 'v1,xyz',
  cookie: 'not for the target',
};

it('passes a webhook on byte for byte with its signature, and the target’s answer back', async () => {
  status = 418;
  const answer = await fetch(forwarder.url, { method: 'POST', headers, body });
  expect(answer.status).toBe(418);
  expect(received).toMatchObject([{ body, headers: { 'webhook-id': 'fevt_1', 'webhook-signature': 'v1,xyz' } }]);
  expect(received[0]?.headers.cookie).toBeUndefined();
  expect(forwarded).toEqual([{ id: 'fevt_1', type: 'invoice.paid', status: 418 }]);
});

it('passes no body on that comes in more than a thousand tiny chunks, and keeps no more of it [D14.243]', async () => {
  const socket = connect(Number(new URL(forwarder.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n');
  socket.write('1\r\nx\r\n'.repeat(5_000));
  const [answer] = await once(socket, 'data');
  socket.destroy();
  expect(String(answer)).toMatch(/^HTTP\/1\.1 400 /);
  expect(forwarded).toEqual([]);
});

it('answers 502 while the target is down, so that the event is sent again', async () => {
  target.close();
  target.closeAllConnections();
  const answer = await fetch(forwarder.url, { method: 'POST', headers, body });
  expect(answer.status).toBe(502);
  expect(forwarded).toEqual([{ id: 'fevt_1', type: 'invoice.paid', status: undefined }]);
});

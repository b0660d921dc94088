import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect as dial } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import type { Constellation } from '@eligo/testkit';
import type { TestCertificate } from '@eligo/testkit/certificates';

/** The port on which a service, in a process of its own, takes the calls of other components. */
export function internalPortOf(eligo: Constellation, service: string): number {
  const pid = eligo.processes().find(({ name }) => name === service)?.pid;
  const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  const port = variables.find((one) => one.startsWith('GRPC_PORT='))?.slice('GRPC_PORT='.length);
  if (port === undefined) throw new Error(`${service} has no port of its own`);
  return Number(port);
}

/** What a client gets that shows a certificate, or none: the serial number of the server's certificate, or why it is refused. */
export function shakeHands(port: number, service: string, authority: string, own?: TestCertificate): Promise<string> {
  return new Promise((resolve) => {
    const socket: TLSSocket = connect({
      ...{ host: '127.0.0.1', port, servername: service, ca: authority, ALPNProtocols: ['h2'] },
      ...(own && { cert: own.certificate, key: own.key }),
    });
    const end = (answer: string) => {
      socket.destroy();
      resolve(answer);
    };
    // With TLS 1.3 a refusal comes after the client's part, so the first word of the server decides.
    socket.once('data', () => end(socket.getPeerCertificate().serialNumber));
    socket.once('error', (error) => end(`refused: ${error.message}`));
    socket.once('close', () => end('refused: closed'));
  });
}

/** The serial number of a certificate. */
export function serialOf({ certificate }: TestCertificate): string {
  return new X509Certificate(certificate).serialNumber;
}

/** What a client gets that begins HTTP/2 without TLS. */
export function speakPlainly(port: number): Promise<Buffer> {
  return new Promise((resolve) => {
    const got: Buffer[] = [];
    const socket = dial(port, '127.0.0.1');
    socket.on('data', (bytes: Buffer) => got.push(bytes));
    // The server may close before it has read all.
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(Buffer.concat(got)));
    // The preface and empty settings.
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    socket.write(Buffer.from('000000040000000000', 'hex'));
  });
}

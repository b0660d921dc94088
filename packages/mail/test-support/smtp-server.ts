import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';

/** A mail as a server took it. */
export interface TakenMail {
  readonly from: string;
  readonly to: string;
  /** Headers and body, as sent. */
  readonly data: string;
}

/** A mail server for tests: it speaks SMTP and keeps what it is given. */
export interface SmtpServer {
  readonly url: string;
  readonly mails: TakenMail[];
  /** The answer to the next message instead of 250, such as `451 later`; `hang_up` ends the connection without one. */
  answerNext(answer: string): void;
  close(): Promise<void>;
}

/** Starts it on a free port of this machine. */
export async function startSmtpServer(): Promise<SmtpServer> {
  const mails: TakenMail[] = [];
  const answers: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    // A client that the test closes may reset its connection.
    socket.once('error', () => socket.destroy());
    converse(socket, mails, answers);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mails,
    answerNext: (answer) => void answers.push(answer),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function converse(socket: Socket, mails: TakenMail[], answers: string[]): void {
  let received = '';
  let mail = { from: '', to: '' };
  let isData = false;
  socket.write('220 test\r\n');
  socket.setEncoding('utf8').on('data', (chunk) => {
    received += chunk;
    for (;;) {
      const end = isData ? '\r\n.\r\n' : '\r\n';
      const at = received.indexOf(end);
      if (at === -1) return;
      const text = received.slice(0, at);
      received = received.slice(at + end.length);
      if (isData) take(text);
      else obey(text);
    }
  });

  function take(data: string): void {
    isData = false;
    const answer = answers.shift() ?? '250 taken';
    if (answer.startsWith('250') || answer === 'hang_up') mails.push({ ...mail, data });
    if (answer === 'hang_up') socket.destroy();
    else socket.write(`${answer}\r\n`);
  }

  function obey(line: string): void {
    const command = line.slice(0, 4).toUpperCase();
    const address = /<([^>]*)>/.exec(line)?.[1] ?? '';
    if (command === 'MAIL') mail = { ...mail, from: address };
    if (command === 'RCPT') mail = { ...mail, to: address };
    if (command === 'DATA') {
      isData = true;
      socket.write('354 go on\r\n');
    } else if (command === 'QUIT') socket.end('221 bye\r\n');
    else socket.write('250 ok\r\n');
  }
}

import type { ConsumerMessages, JsMsg } from 'nats';
import type { EventConnection } from './connection.ts';

/** A message of a stream, with the connection that brought it. */
export interface Pulled {
  readonly message: JsMsg;
  readonly incarnation: number;
  /** Whether the server still takes an answer for this message, and for no other. */
  readonly mayAnswer: () => boolean;
}

/**
 * The messages of a subscription, each with the connection that brought it. An answer names a message by its place in the stream. After a reconnect
 * this place can hold another message: on another server, or in a directory that was put back. The same is true of a stream that was created again
 * (`isLost`). The answer would acknowledge that message before it is handled, so no answer is sent. The server delivers the message again after 30 s,
 * and the inbox knows that it was handled.
 */
export function pulledFrom(
  messages: ConsumerMessages,
  connection: EventConnection,
  isLost: () => boolean,
): AsyncGenerator<Pulled> {
  // How many messages had come when each earlier connection ended.
  const earlier: { readonly incarnation: number; readonly received: number }[] = [];
  let current = connection.incarnation();
  const unregister = connection.onReconnect(() => {
    earlier.push({ incarnation: current, received: messages.getReceived() });
    current = connection.incarnation();
  });
  return withConnections(messages, {
    incarnationOf(count) {
      while (earlier[0] !== undefined && earlier[0].received < count) earlier.shift();
      return earlier[0]?.incarnation ?? current;
    },
    mayAnswer: (incarnation) => !isLost() && connection.isConnected() && connection.incarnation() === incarnation,
    end: unregister,
  });
}

async function* withConnections(
  messages: ConsumerMessages,
  connections: {
    readonly incarnationOf: (count: number) => number;
    readonly mayAnswer: (incarnation: number) => boolean;
    readonly end: () => void;
  },
): AsyncGenerator<Pulled> {
  let count = 0;
  try {
    for await (const message of messages) {
      count += 1;
      const incarnation = connections.incarnationOf(count);
      yield { message, incarnation, mayAnswer: () => connections.mayAnswer(incarnation) };
    }
  } finally {
    connections.end();
  }
}

import type { ConsumerMessages, JsMsg } from 'nats';
import type { EventConnection } from './connection.ts';

/** A message of a stream, with the connection that brought it. */
export interface Pulled {
  readonly message: JsMsg;
  readonly incarnation: number;
  /** Whether an acknowledgement still means this message, and no other. */
  readonly mayAcknowledge: () => boolean;
}

/**
 * The messages of a subscription, each with the connection that brought it. An acknowledgement names a place in the
 * stream. After a reconnect this place can hold another message: on another server, or in a directory that was put
 * back. The same is true of a stream that was created again (`isLost`). The acknowledgement would lose that message, so
 * none is sent. The server delivers the message again after 30 s, and the inbox knows that it was handled. A negative
 * acknowledgement loses nothing: it can be sent at any time.
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
    mayAcknowledge: (incarnation) => !isLost() && connection.isConnected() && connection.incarnation() === incarnation,
    end: unregister,
  });
}

async function* withConnections(
  messages: ConsumerMessages,
  connections: {
    readonly incarnationOf: (count: number) => number;
    readonly mayAcknowledge: (incarnation: number) => boolean;
    readonly end: () => void;
  },
): AsyncGenerator<Pulled> {
  let count = 0;
  try {
    for await (const message of messages) {
      count += 1;
      const incarnation = connections.incarnationOf(count);
      yield { message, incarnation, mayAcknowledge: () => connections.mayAcknowledge(incarnation) };
    }
  } finally {
    connections.end();
  }
}

import { Code, ConnectError } from '@connectrpc/connect';

/** The one request of a server stream, which Connect's interface hands over as a stream of its own. */
export async function onlyMessage<Message>(messages: AsyncIterable<Message>): Promise<Message> {
  for await (const message of messages) return message;
  throw new ConnectError('The request is missing', Code.InvalidArgument);
}

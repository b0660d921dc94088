import { type JsonObject, type MessageOf, type RecordKind, type RecordName, records } from '@eligo/contract';
import { expand } from './expand/expand.ts';
import type { ApiRequest } from './http/api-request.ts';
import type { Peers } from './peers.ts';

type Asked = Pick<ApiRequest<unknown, unknown>, 'expand' | 'call'>;

/** Makes answers of messages: expands what the request asks for and renders, under the record's envelope. */
export class Answers {
  readonly #peers: Peers;

  constructor(peers: Peers) {
    this.#peers = peers;
  }

  /** One record. */
  async one<Name extends RecordName>(request: Asked, name: Name, message: MessageOf<Name>): Promise<JsonObject> {
    const kind = kindOf(name);
    if (request.expand.size === 0) return { [name]: kind.render(message) };
    const expansion = await expand(this.#peers, kind.references, [message], request.expand, request.call);
    return { [name]: kind.render(message, expansion) };
  }

  /** A page of records. */
  async list<Name extends RecordName>(
    request: Asked,
    name: Name,
    messages: readonly MessageOf<Name>[],
    hasMore: boolean,
  ): Promise<JsonObject> {
    return { [records[name].plural]: await this.rows(request, name, messages), has_more: hasMore };
  }

  /** Records without an envelope. */
  async rows<Name extends RecordName>(
    request: Asked,
    name: Name,
    messages: readonly MessageOf<Name>[],
  ): Promise<JsonObject[]> {
    const kind = kindOf(name);
    const expansion = await expand(this.#peers, kind.references, messages, request.expand, request.call);
    return messages.map((message) => kind.render(message, expansion));
  }
}

// The compiler does not see that the kind and the message are those of one name.
function kindOf<Name extends RecordName>(name: Name): RecordKind<MessageOf<Name>> {
  return records[name] as unknown as RecordKind<MessageOf<Name>>;
}

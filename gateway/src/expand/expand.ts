import {
  type ExpandableKind,
  type Expansion,
  expansionOf,
  type JsonObject,
  noExpansion,
  type References,
} from '@eligo/contract';
import type { CallOptions } from '@eligo/rpc';
import type { Peers } from '../peers.ts';
import { fetchReferences } from './fetch-references.ts';

/**
 * A call loads and sends this many records at once. A page of a hundred rows with up to two of a kind each takes one call; a hundred sessions can
 * name 5,000 captures.
 */
export const maxIdsPerCall = 200;

/**
 * What a request asks to expand in these records: batch calls, never one per row, and all record types at once (decisions 3.7). `keys` has only what
 * the request's API key may read.
 */
export async function expand<Message>(
  peers: Peers,
  references: References<Message>,
  messages: readonly Message[],
  keys: ReadonlySet<string>,
  call: CallOptions,
): Promise<Expansion> {
  if (keys.size === 0) return noExpansion;
  const wanted = idsByKind(references, messages, keys);
  const found = new Map<ExpandableKind, ReadonlyMap<string, JsonObject>>();
  await Promise.all(
    [...wanted].map(async ([kind, ids]) => {
      if (ids.size > 0) found.set(kind, await fetchInTurn(peers, kind, [...ids], call));
    }),
  );
  return expansionOf(keys, found);
}

async function fetchInTurn(
  peers: Peers,
  kind: ExpandableKind,
  ids: readonly string[],
  call: CallOptions,
): Promise<ReadonlyMap<string, JsonObject>> {
  const found = new Map<string, JsonObject>();
  for (let start = 0; start < ids.length; start += maxIdsPerCall) {
    const part = await fetchReferences(peers, kind, ids.slice(start, start + maxIdsPerCall), call);
    for (const [id, record] of part) found.set(id, record);
  }
  return found;
}

function idsByKind<Message>(
  references: References<Message>,
  messages: readonly Message[],
  keys: ReadonlySet<string>,
): Map<ExpandableKind, Set<string>> {
  const wanted = new Map<ExpandableKind, Set<string>>();
  for (const key of keys) {
    const reference = references[key];
    if (reference === undefined) continue;
    const ids = wanted.get(reference.kind) ?? new Set<string>();
    wanted.set(reference.kind, ids);
    for (const message of messages) for (const id of reference.ids(message)) if (id !== undefined) ids.add(id);
  }
  return wanted;
}

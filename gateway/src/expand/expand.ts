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

/** What a request asks to expand in these records: one batch call per record type, all at once, never one per row (decisions 3). */
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
      if (ids.size > 0) found.set(kind, await fetchReferences(peers, kind, [...ids], call));
    }),
  );
  return expansionOf(keys, found);
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

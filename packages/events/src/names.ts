/** The stream of a producing service: `ELIGO_CHECKOUT`. */
export function streamOf(service: string): string {
  return `ELIGO_${service.toUpperCase()}`;
}

/** The subject of an event: `eligo.<service>.<test|live>.<event type>`. It names no account and no record. */
export function subjectOf(service: string, testMode: boolean, type: string): string {
  return `eligo.${service}.${testMode ? 'test' : 'live'}.${type}`;
}

/** All subjects of a producing service. */
export function subjectsOf(service: string): string {
  return `eligo.${service}.>`;
}

/** The narrowest single subject with all events of these types (`*` for all), since server 2.9 has one filter for each consumer. */
export function filterOf(service: string, types: readonly string[]): string {
  const [first, ...others] = types.map((type) => type.split('.'));
  if (first === undefined || types.includes('*')) return subjectsOf(service);
  if (others.length === 0) return `eligo.${service}.*.${first.join('.')}`;
  // Only `>` stands for several words, and it needs one: the last word of each type is left to it.
  const differsAt = first.findIndex((word, at) =>
    [first, ...others].some((type) => type[at] !== word || at === type.length - 1),
  );
  const common = first.slice(0, differsAt).join('.');
  return common === '' ? subjectsOf(service) : `eligo.${service}.*.${common}.>`;
}

/** Whether a filter of these names a subject. */
export function isNamedBy(filter: string, subject: string): boolean {
  const words = subject.split('.');
  const named = filter.split('.');
  return (
    named.every((word, at) => word === '*' || word === '>' || word === words[at]) &&
    (named.at(-1) === '>' ? words.length >= named.length : words.length === named.length)
  );
}

/** The event type that a subject ends in. */
export function typeOfSubject(subject: string): string {
  return subject.split('.').slice(3).join('.');
}

/** The durable consumer of a service on another's stream. */
export function durableOf(service: string, consumer: string): string {
  return `${service}-${consumer}`;
}

/** The prefix of the subjects on which a service takes answers; its own, so that no one listens in. */
export function inboxPrefixOf(service: string): string {
  return `_INBOX_${service}`;
}

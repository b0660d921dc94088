import { deleteStreams, listRepairs, type MissedEvent, missingPages, publishAgain } from '@eligo/events';
import type { ComponentName } from '@eligo/stack';
import { type Command, type Given, UsageError } from '../command.ts';
import { componentsNamed, consumptions } from '../components.ts';
import { adminDatabaseUrl, checkAccess, natsPlace, withComponent } from '../connect.ts';

const range = {
  from: { type: 'string' },
  service: { type: 'string' },
  hours: { type: 'string', default: '24' },
} as const;

/** What has become of events between the services. */
export const eventCommands: readonly Command[] = [
  {
    name: 'events missing',
    usage: '[--from SERVICE] [--service SERVICE] [--hours 24]',
    summary:
      'Finds committed events that a consumer has neither handled nor dead-lettered, for example after a restore. Exits with 1 if any are missing. Uses DATABASE_URL, or the running stack.',
    readsOnly: true,
    options: range,
    async run(given) {
      const missing = await findMissing(given);
      return { json: { missing: missing.map(jsonOf) }, lines: linesOf(missing), failed: missing.length > 0 };
    },
  },
  {
    name: 'events republish',
    usage: '--missing [--hours 24] [--service SERVICE] [--from SERVICE] | --event EVENT_ID --from SERVICE',
    summary:
      'Republishes events from the outbox: all that a consumer is missing, or one. Consumers ignore events that they have already handled.',
    options: { ...range, missing: { type: 'boolean' }, event: { type: 'string' } },
    async run(given) {
      const eventId = given.text('event');
      if ((eventId === undefined) === !given.flag('missing')) {
        throw new UsageError('--missing, or --event EVENT_ID with --from SERVICE, is required');
      }
      const { asked, tooRecent, gone } = await republish(
        eventId === undefined ? missingOf(given) : [{ from: oneProducer(given), eventIds: [eventId] }],
      );
      return {
        json: { republished: asked, too_recent: tooRecent, gone },
        lines: [
          ...tooRecent.map((id) => `too recent  ${id}`),
          ...gone.map((id) => `no longer in the outbox  ${id}`),
          `${asked.length} republished, ${tooRecent.length} too recent, ${gone.length} no longer in the outbox`,
          ...(tooRecent.length > 0
            ? ['NATS drops events republished within two minutes as duplicates. Try again later.']
            : []),
        ],
        failed: tooRecent.length > 0 || gone.length > 0,
      };
    },
  },
  {
    name: 'events rebuild-streams',
    usage: '[--service SERVICE] [--of-deleted-installation NAME]',
    summary:
      'Deletes streams, after Postgres was restored to an earlier moment; the running services make them anew from their outboxes within seconds. Consumers ignore events that they have already handled. Refuses the stream of another installation, unless NAME is what the refusal names. Uses NATS_URL, or the running stack.',
    options: { service: { type: 'string' }, 'of-deleted-installation': { type: 'string' } },
    async run(given) {
      const services = componentsNamed('service', given.text('service'));
      const place = natsPlace();
      const deletedInstallation = given.text('of-deleted-installation');
      for (const service of services) {
        await withComponent(service, (database) =>
          deleteStreams(place, [{ service, owner: { database, deletedInstallation } }]),
        );
      }
      return {
        json: { services },
        lines: [`Deleted the streams of ${services.join(', ')}; these services rebuild them now (see events repairs)`],
      };
    },
  },
  {
    name: 'events repairs',
    usage: '[--service SERVICE]',
    summary:
      'Lists stream repairs: when a relay detected lost events, how it detected them, how many events it has republished, and the progress.',
    readsOnly: true,
    options: { service: { type: 'string' } },
    async run(given) {
      const found = await Promise.all(
        componentsNamed('service', given.text('service')).map(async (service) =>
          (await withComponent(service, (database) => listRepairs(database))).map((repair) => ({
            service,
            found_at: repair.foundAt.toISOString(),
            how: repair.how,
            kept_seq: repair.keptSeq,
            consumers: repair.consumers,
            events: repair.events,
            finished_at: repair.finishedAt?.toISOString() ?? null,
            progress: Math.round(repair.progress * 1_000) / 1_000,
          })),
        ),
      );
      const repairs = found.flat();
      return {
        json: { repairs },
        lines: [
          ...repairs.map(
            (one) =>
              `${one.found_at}  ${one.service}  ${one.how}  ${stateOf(one)}, ${one.events} events republished, ${one.consumers} consumers recreated`,
          ),
          `${repairs.length} repairs`,
        ],
      };
    },
  },
];

function stateOf({ finished_at, progress }: { finished_at: string | null; progress: number }): string {
  return finished_at === null ? `in progress (${(progress * 100).toFixed(1)} %)` : `finished ${finished_at}`;
}

interface Missing extends MissedEvent {
  readonly from: string;
}

async function findMissing(given: Given): Promise<Missing[]> {
  const found: Missing[] = [];
  for await (const { from, missing } of missingOf(given)) {
    for (const event of missing) found.push({ ...event, from });
  }
  return found;
}

interface MissingPage {
  readonly from: ComponentName;
  readonly missing: readonly MissedEvent[];
  /** Each once: one that several consumers miss is published once. */
  readonly eventIds: readonly string[];
}

// One producer after the other, a page of its outbox at a time.
async function* missingOf(given: Given): AsyncGenerator<MissingPage> {
  const hours = hoursOf(given.needed('hours'));
  const services = new Set<string>(componentsNamed('service', given.text('service')));
  const url = adminDatabaseUrl();
  for (const from of componentsNamed('from', given.text('from'))) {
    await checkAccess(from);
    const consumers = consumptions().filter((one) => one.from === from && services.has(one.service));
    for await (const missing of missingPages({ url, from, consumers, hours }))
      yield { from, missing, eventIds: [...new Set(missing.map(({ eventId }) => eventId))] };
  }
}

interface Republished {
  readonly asked: readonly string[];
  readonly tooRecent: readonly string[];
  readonly gone: readonly string[];
}

async function republish(
  pages: AsyncIterable<MissingPage> | readonly Pick<MissingPage, 'from' | 'eventIds'>[],
): Promise<Republished> {
  const [asked, tooRecent, gone]: [string[], string[], string[]] = [[], [], []];
  for await (const { from, eventIds } of pages) {
    const answer = await withComponent(from, (database) => publishAgain(database, eventIds));
    const known = new Set([...answer.asked, ...answer.tooRecent]);
    for (const id of answer.asked) asked.push(id);
    for (const id of answer.tooRecent) tooRecent.push(id);
    for (const id of eventIds) if (!known.has(id)) gone.push(id);
  }
  return { asked, tooRecent, gone };
}

function oneProducer(given: Given): ComponentName {
  const [name] = componentsNamed('from', given.needed('from'));
  if (name === undefined) throw new UsageError('--from is required');
  return name;
}

function jsonOf({ service, consumer, from, eventId, type, createdAt, isPublished }: Missing) {
  return {
    ...{ service, consumer, from, event_id: eventId, type },
    created_at: createdAt.toISOString(),
    published: isPublished,
  };
}

function linesOf(missing: readonly Missing[]): string[] {
  return [
    ...missing.map(
      ({ createdAt, service, consumer, from, eventId, type, isPublished }) =>
        `${createdAt.toISOString()}  ${from} -> ${service} ${consumer}  ${eventId}  ${type}  ${isPublished ? 'published' : 'not published'}`,
    ),
    `${missing.length} events missing`,
  ];
}

function hoursOf(text: string): number {
  // Beyond what the outbox keeps there is nothing to compare with.
  const hours = Number(text);
  if (!/^\d{1,3}$/.test(text) || hours < 1 || hours > 336) throw new UsageError('--hours must be from 1 to 336');
  return hours;
}

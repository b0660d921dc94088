import {
  type DeadLetter,
  type DeadLetterFilter,
  deadEvent,
  deadLettersNow,
  listDeadLetters,
  requestRedrive,
} from '@eligo/events';
import type { Database } from '@eligo/postgres';
import type { ComponentName } from '@eligo/stack';
import { type Command, type Given, UsageError } from '../command.ts';
import { componentsNamed } from '../components.ts';
import { withComponent } from '../connect.ts';
import { durationMs } from '../duration.ts';

const place = { service: { type: 'string' }, consumer: { type: 'string' } } as const;

/** Events that a consumer could not deal with. */
export const deadLetterCommands: readonly Command[] = [
  {
    name: 'dead-letters list',
    usage: '[--service SERVICE] [--consumer CONSUMER] [--limit 100]',
    summary:
      'Lists dead-lettered events (events that a consumer failed to handle twenty times), oldest first, per service.',
    readsOnly: true,
    showsAccounts: true,
    options: { ...place, limit: { type: 'string', default: '100' } },
    async run(given) {
      const letters = await find(given, countOf(given.needed('limit')));
      return {
        json: { dead_letters: letters.map(jsonOf) },
        lines: [...letters.map(lineOf), `${letters.length} dead letters`],
      };
    },
  },
  {
    name: 'dead-letters show',
    usage: 'EVENT_ID [--service SERVICE] [--consumer CONSUMER]',
    summary:
      'Shows a dead-lettered event: consumer, error, deliveries and the record it concerns. Never prints the event’s payload.',
    readsOnly: true,
    showsAccounts: true,
    words: ['EVENT_ID'],
    options: place,
    async run(given) {
      const letters = await find(given, most, given.words[0]);
      if (letters.length === 0) throw new Error('No such dead letter');
      const shown = await Promise.all(
        letters.map(async (letter) => ({ ...jsonOf(letter), ...(await eventOf(letter)) })),
      );
      return { json: { dead_letters: shown }, lines: shown.flatMap(linesOf) };
    },
  },
  {
    name: 'dead-letters redrive',
    usage: '--event EVENT_ID | --all [--service SERVICE] [--consumer CONSUMER] [--wait 30s]',
    summary: 'Retries dead-lettered events once each in the running services and waits for the results.',
    options: {
      ...place,
      event: { type: 'string' },
      all: { type: 'boolean' },
      wait: { type: 'string', default: '30s' },
    },
    async run(given) {
      const eventId = given.text('event');
      if ((eventId === undefined) === !given.flag('all')) throw new UsageError('--event EVENT_ID or --all is required');
      const waitMs = durationMs(given.needed('wait'));
      const filter = { consumer: given.text('consumer'), eventId };
      const outcomes = await Promise.all(
        componentsNamed('service', given.text('service')).map((service) =>
          withComponent(service, (database) => redriveIn(service, database, filter, waitMs)),
        ),
      );
      const asked = outcomes.reduce((sum, outcome) => sum + outcome.asked, 0);
      if (asked === 0 && eventId !== undefined) throw new Error('No such dead letter');
      return outcomeOf(asked, outcomes);
    },
  },
];

interface Letter extends DeadLetter {
  readonly service: ComponentName;
}

/** More than an operator works off by hand. Those of a service that a redrive of all asks for beyond it are not waited for. */
const most = 10_000;
const lookEveryMs = 250;
/** How many are looked at each time: those that were asked for first. */
const lookedAt = 500;

async function find(given: Given, limit: number, eventId?: string): Promise<Letter[]> {
  const filter = { consumer: given.text('consumer'), eventId };
  const found = await Promise.all(
    componentsNamed('service', given.text('service')).map((service) =>
      withComponent(service, async (database) =>
        (await listDeadLetters(database, limit, filter)).map((letter) => ({ ...letter, service })),
      ),
    ),
  );
  return found.flat();
}

interface Outcome {
  /** All that were asked for, also those that are not waited for. */
  readonly asked: number;
  readonly done: number;
  readonly failed: readonly Letter[];
  readonly waiting: readonly Letter[];
}

async function redriveIn(
  service: ComponentName,
  database: Database,
  filter: DeadLetterFilter,
  waitMs: number,
): Promise<Outcome> {
  const watched = await listDeadLetters(database, most, filter);
  const asked = await requestRedrive(database, filter);
  const { failed, waiting } = await waitFor(database, watched, waitMs);
  const inService = (letter: DeadLetter): Letter => ({ ...letter, service });
  const done = watched.length - failed.length - waiting.length;
  return {
    asked: Math.max(asked, watched.length),
    done,
    failed: failed.map(inService),
    waiting: waiting.map(inService),
  };
}

async function waitFor(
  database: Database,
  watched: readonly DeadLetter[],
  waitMs: number,
): Promise<{ failed: DeadLetter[]; waiting: DeadLetter[] }> {
  const failed: DeadLetter[] = [];
  const waiting: DeadLetter[] = [];
  const end = performance.now() + waitMs;
  for (let from = 0; from < watched.length; from += lookedAt) {
    let left = watched.slice(from, from + lookedAt);
    for (;;) {
      const now = await stillThere(database, left);
      failed.push(...now.failed);
      left = now.waiting;
      if (left.length === 0 || performance.now() > end) break;
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
    waiting.push(...left);
  }
  return { failed, waiting };
}

/** Of these, as they were before they were asked for: those that failed again, and those that nobody has tried yet. */
async function stillThere(database: Database, letters: readonly DeadLetter[]) {
  const now = new Map((await deadLettersNow(database, letters)).map((letter) => [nameOf(letter), letter]));
  const failed: DeadLetter[] = [];
  const waiting: DeadLetter[] = [];
  for (const before of letters) {
    const letter = now.get(nameOf(before));
    if (letter === undefined) continue;
    (letter.redrives > before.redrives ? failed : waiting).push(letter);
  }
  return { failed, waiting };
}

function outcomeOf(asked: number, outcomes: readonly Outcome[]) {
  const done = outcomes.reduce((sum, outcome) => sum + outcome.done, 0);
  const failed = outcomes.flatMap((outcome) => outcome.failed);
  const waiting = outcomes.flatMap((outcome) => outcome.waiting);
  const beyond = asked - done - failed.length - waiting.length;
  return {
    json: {
      ...{ asked, done, failed: failed.map(jsonOf), waiting: waiting.map(jsonOf) },
      ...(beyond > 0 ? { not_waited_for: beyond } : {}),
    },
    lines: [
      ...failed.map((letter) => `failed again  ${lineOf(letter)}`),
      ...waiting.map((letter) => `pending  ${lineOf(letter)}`),
      `${done} handled, ${failed.length} failed again, ${waiting.length} pending`,
      ...(beyond > 0 ? [`${beyond} more are being retried; \`dead-letters list\` shows those that are left.`] : []),
      ...(waiting.length > 0 ? ['Pending events are retried when their service runs.'] : []),
    ],
    failed: failed.length > 0 || waiting.length > 0 || beyond > 0,
  };
}

async function eventOf(letter: Letter) {
  const event = await withComponent(letter.service, (database) => deadEvent(database, letter.consumer, letter.eventId));
  if (event === undefined) return {};
  return {
    aggregate: event.aggregateId,
    aggregate_seq: Number(event.aggregateSeq),
    record: event.object.case ?? null,
    occurred_at: new Date(Number(event.occurredAtMs)).toISOString(),
    request_id: event.requestId,
  };
}

function nameOf({ consumer, eventId }: DeadLetter): string {
  return `${consumer} ${eventId}`;
}

function jsonOf(letter: Letter) {
  return {
    service: letter.service,
    consumer: letter.consumer,
    event_id: letter.eventId,
    type: letter.type,
    account: letter.accountId,
    mode: letter.testMode ? 'test' : 'live',
    error: letter.error,
    deliveries: letter.deliveries,
    redrives: letter.redrives,
    redrive_asked_at: letter.redriveAt?.toISOString() ?? null,
    created_at: letter.createdAt.toISOString(),
  };
}

function lineOf(letter: Letter): string {
  const { created_at, service, consumer, event_id, type, error, redrives } = jsonOf(letter);
  const again = redrives > 0 ? `  redriven ${redrives} times` : '';
  return `${created_at}  ${service}  ${consumer}  ${event_id}  ${type}  ${error}${again}`;
}

function linesOf(letter: object): string[] {
  return [...Object.entries(letter).map(([name, value]) => `${name.padEnd(18)}${value ?? ''}`), ''];
}

function countOf(text: string): number {
  const count = Number(text);
  if (!/^\d{1,5}$/.test(text) || count < 1 || count > most) throw new UsageError(`--limit must be from 1 to ${most}`);
  return count;
}

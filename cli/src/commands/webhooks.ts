import { once } from 'node:events';
import { type Command, UsageError } from '../command.ts';
import { publicApi } from '../connect.ts';
import { startForwarder } from '../forwarder.ts';
import { field } from '../public-api.ts';

/** Webhooks while developing. */
export const webhookCommands: readonly Command[] = [
  {
    name: 'webhooks listen',
    usage: '--forward-to URL [--events a,b]',
    summary: 'Forwards the account’s webhook events to URL until Ctrl-C. Requires a stack on this machine.',
    options: { 'forward-to': { type: 'string' }, events: { type: 'string', default: '*' } },
    async run(given) {
      const target = given.needed('forward-to');
      if (!URL.canParse(target)) throw new UsageError('--forward-to must be a URL');
      const api = publicApi();
      const counts = { delivered: 0, refused: 0 };
      const forwarder = await startForwarder(target, ({ type, id, status }) => {
        counts[status !== undefined && status < 300 ? 'delivered' : 'refused'] += 1;
        given.say(`${new Date().toISOString()}  ${type}  ${id}  ${status ?? 'no response'}`);
      });
      try {
        const events = given.needed('events').split(',');
        const created = await api.send('POST', '/v1/webhooks', { webhook: { url: forwarder.url, events } });
        const webhookId = field(created, 'webhook', 'webhook_id');
        given.say(`Forwarding to ${target}. Signing secret: ${field(created, 'webhook', 'signing_secret')}`);
        given.say('Press Ctrl-C to stop.');
        await untilTold();
        await api.send('DELETE', `/v1/webhooks/${webhookId}`);
      } finally {
        await forwarder.stop();
      }
      return { json: counts, lines: [`${counts.delivered} delivered, ${counts.refused} refused`] };
    },
  },
  {
    name: 'webhooks replay',
    usage: 'EVENT_ID',
    summary: 'Redelivers an event to every endpoint that subscribes to its type.',
    words: ['EVENT_ID'],
    options: {},
    async run(given) {
      const eventId = given.words[0] ?? '';
      const answer = await publicApi().send('POST', `/v1/events/${encodeURIComponent(eventId)}/retry`);
      const type = field(answer, 'event', 'event_type');
      return { json: { event_id: eventId, event_type: type }, lines: [`Redelivering ${eventId} (${type})`] };
    },
  },
];

async function untilTold(): Promise<void> {
  const ended = new AbortController();
  // Node ends with nothing to do but wait for a signal.
  const alive = setInterval(() => undefined, 60_000);
  try {
    await Promise.race(
      ['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal, { signal: ended.signal })),
    );
  } finally {
    clearInterval(alive);
    ended.abort();
  }
}

import type { Constellation } from '@eligo/testkit';
import { record, text } from '../records.ts';
import { newSession, openShop } from '../shop.ts';
import { type Attack, sharedBy } from './attack.ts';
import type { AttackingAccount } from './attacking-account.ts';
import { flood, type Prepared, sendPrepared } from './flood.ts';

/** Five requests a second are the limit of each, and one payment. */
const sessionsOnPages = 60;

/**
 * Visitors of an account's pages, who have no key: each page is opened from an address of its own, as often as the limits of the page admit, however many pages
 * and visitors there are.
 */
export const pageAttacks: readonly Attack[] = [
  {
    name: 'pages and their calls, from 60 addresses',
    async prepare(account) {
      const pages = await openPages(account);
      return (signal) =>
        flood(signal, sessionsOnPages * 4, (count) => {
          const { path, address } = pages[count % pages.length] as Page;
          const isDocument = Math.floor(count / pages.length) % 2 === 0;
          return sendPrepared(
            account.eligo.url,
            { method: 'GET', path: isDocument ? path : `${path}/session` },
            address,
          );
        });
    },
  },
  {
    name: 'typed cards, declined on pages, from 60 addresses',
    async prepare(account) {
      const { eligo } = account;
      const pages = await openPages(account);
      const typed = await typedCard(eligo, pages[0] as Page);
      return (signal) =>
        flood(signal, sessionsOnPages, async (count) => {
          const { path, address } = pages[count % pages.length] as Page;
          const { id } = await sandboxAnswer(eligo, typed);
          return sendPrepared(eligo.url, paymentOn(path, id), address);
        });
    },
  },
];

const openPages = sharedBy(async ({ unlimited }: AttackingAccount): Promise<readonly Page[]> => {
  const shop = await openShop(unlimited);
  const newPage = async (_: unknown, at: number): Promise<Page> => {
    const made = await newSession(unlimited, shop, { line_items: [{ price: shop.otherPriceId, quantity: 1 }] });
    return { path: new URL(text(made, 'redirect_url')).pathname, address: `127.0.1.${at + 1}` };
  };
  return Promise.all(Array.from({ length: sessionsOnPages }, newPage));
});

interface Page {
  readonly path: string;
  readonly address: string;
}

function paymentOn(path: string, card: string): Prepared {
  const body = { cards: [{ payment_method: card, slot: 'other' }], terms_accepted: true };
  const headers = { 'content-type': 'application/json' };
  return { method: 'POST', path: `${path}/pay`, headers, body: Buffer.from(JSON.stringify(body)) };
}

// What the card fields send for a card that the bank declines.
async function typedCard(eligo: Constellation, { path }: Page): Promise<string> {
  const view = (await (await fetch(`${eligo.url}${path}/session`)).json()) as Record<string, unknown>;
  const account = new URL(text(record(view, 'card_fields'), 'url')).searchParams.get('account');
  return JSON.stringify({ account, number: '4000000000000002', expMonth: 12, expYear: 2040, cvc: '123' });
}

async function sandboxAnswer({ processor: { url } }: Constellation, body: string): Promise<{ id: string }> {
  const headers = { 'content-type': 'application/json', origin: new URL(url).origin };
  const answer = await fetch(`${url}/fields/payment_methods`, { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(`The card fields answered ${answer.status}`);
  return (await answer.json()) as { id: string };
}

import { Failure } from '@eligo/failures';
import { describe, expect, test } from 'vitest';
import { updateAccount } from '../src/accounts/index.ts';
import type { TestGateway } from './open-test-gateway.ts';
import { stopLimiterClock } from './stop-limiter-clock.ts';

export interface FirstViewPlace {
  readonly stack: TestGateway;
  readonly url: string;
  /** Of the page. */
  readonly path: string;
  session(): { session: object };
  become(next: { session: object }): void;
}

/** What the document of a checkout page has for its script. */
export function firstViewTests(place: () => FirstViewPlace): void {
  describe('the document of the checkout page', () => {
    test('loads from the gateway, the card fields and the logo alone, and is never cached [D14.82]', async () => {
      const { stack, url, path } = place();
      await updateAccount(stack.database, stack.accountId, { logoUrl: 'https://cdn.example/logo.svg' });
      const reply = await fetch(`${url}${path}`);
      expect(reply.status).toBe(200);
      const headers = Object.fromEntries(reply.headers);
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      });
      const policy = headers['content-security-policy'] ?? '';
      expect(policy).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' https://cdn.example; " +
          "frame-src https://cards.example; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      );
      const [script = ''] = /assets\/[^"]+\.js/.exec(await reply.text()) ?? [];
      const asset = await fetch(`${url}/pay/${script}`);
      expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(asset.headers.get('content-encoding')).toBe('gzip');
      expect((await asset.text()).length).toBeGreaterThan(1_000);
      await updateAccount(stack.database, stack.accountId, { logoUrl: null });
    });

    test('is asked for with what the account may charge, as every call of the page is [D14.72]', async () => {
      const { stack, url, path } = place();
      const state = (substantiation: 'iias' | null) =>
        updateAccount(stack.database, stack.accountId, { substantiation: { substantiation, setBy: 'Ann' } });
      await state('iias');
      for (const action of ['', '/session']) await fetch(`${url}${path}${action}`);
      for (const [action, body] of Object.entries({ authenticate: {}, 'promo-code': { code: null }, cancel: {} })) {
        const headers = { 'content-type': 'application/json' };
        await fetch(`${url}${path}/${action}`, { method: 'POST', headers, body: JSON.stringify(body) });
      }
      await state(null);
      const asked = stack.peers.seen.filter(({ method }) => method === 'getPage');
      expect(asked.map(({ call }) => call?.caller.substantiation)).toEqual(Array(5).fill('iias'));
    });

    test('has the session and the frames of its card fields in its document, so that a browser waits for nothing after its script [D14.228]', async () => {
      const { stack, url, path, session, become } = place();
      const visit = async (headers = {}) => {
        const reply = await fetch(`${url}${path}`, { headers });
        expect([reply.status, reply.headers.get('cache-control')]).toEqual([200, 'no-store']);
        const html = await reply.text();
        const [, json = 'null'] = /<script type="application\/json" id="view">(.*?)<\/script>/s.exec(html) ?? [];
        const sources = [...html.matchAll(/<iframe src="([^"]+)"><\/iframe>/g)].map(([, src = '']) => src);
        return {
          view: JSON.parse(json),
          frames: sources.map((src) => new URL(src.replaceAll('&amp;', '&'))),
          link: reply.headers.get('link'),
        };
      };
      const { view, frames, link } = await visit({ 'accept-language': 'fr-FR, es-MX;q=0.9, en;q=0.8' });
      expect(view).toEqual(await (await fetch(`${url}${path}/session`)).json());
      expect(link).toBeNull();
      expect(frames.map(({ origin, pathname }) => origin + pathname)).toEqual(
        Array(2).fill('https://cards.example/fields/card'),
      );
      expect(frames.map(({ searchParams }) => Object.fromEntries(searchParams))).toEqual(
        ['health', 'other'].map((slot) => ({ account: 'acct_0123456789abcdef', parent: url, lang: 'es', slot })),
      );
      // What a shop calls itself or sells ends no element.
      await updateAccount(stack.database, stack.accountId, { displayName: '</script><b>' });
      expect((await visit()).view).toMatchObject({ shop: { name: '</script><b>' } });
      await updateAccount(stack.database, stack.accountId, { displayName: null });
      // No card is asked for: no frame.
      become({ ...session(), session: { ...session().session, status: 'complete' } });
      expect(await visit()).toMatchObject({ view: { state: 'complete' }, frames: [] });
    });

    test('leaves to its script a session that is paid, has a secret or cannot be read, and a visitor who comes too often [D14.228]', async () => {
      const { stack, url, path, session, become } = place();
      const callsOf = (method: string) => stack.peers.seen.filter((seen) => seen.method === method);
      const visit = async () => {
        const reply = await fetch(`${url}${path}`);
        const html = await reply.text();
        return [reply.status, html.includes('id="view"'), html.includes('<iframe'), reply.headers.get('link')];
      };
      const asks = [200, false, false, `<${path.slice('/pay/'.length)}/session>; rel=preload; as=fetch; crossorigin`];
      const whole = session();
      for (const more of [{ clientSecret: 'pi_1_secret_2' }, { paymentInFlight: true }]) {
        become({ ...whole, ...more });
        expect(await visit()).toEqual(asks);
      }
      expect(callsOf('resumeAuthentication')).toEqual([]);
      // Checkout counts no shopper as there, and reads no secret, until the script asks.
      expect(callsOf('getPage').map(({ request }) => request.forDocument)).toEqual([true, true]);
      await fetch(`${url}${path}/session`);
      expect(callsOf('getPage').at(-1)?.request).toMatchObject({ forDocument: false });
      stack.peers.answer('getPage', () => {
        throw new Failure('service_unavailable');
      });
      expect(await visit()).toEqual(asks);
      stack.peers.answer('getPage', () => whole);
      stack.peers.seen.length = 0;
      stopLimiterClock();
      const visits = await Promise.all(Array.from({ length: 24 }, visit));
      expect(visits).toContainEqual(asks);
      expect(visits.map(([status]) => status)).toEqual(Array(24).fill(200));
      expect(callsOf('getPage').length).toBeLessThan(24);
    });
  });
}

import { openPageTokens, readEnvironment } from '@eligo/service';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCustomer } from '../src/actions/create-customer.ts';
import { createSession } from '../src/actions/create-session.ts';
import { sessionMessage } from '../src/messages/session.ts';
import { readPageUrls } from '../src/page-urls.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { loadSession } from '../src/store/sessions.ts';
import { callIn, type Fixture, line, openFixture, sessionMessage as requestMessage } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const tokens = openPageTokens('a key of the tests of checkout alone');

describe('redirect_url', () => {
  test.each(['payment', 'subscription', 'setup', 'reimbursement'])(
    'is at creation the page of a %s session, in its account and mode, and is the same when it is read [D14.80]',
    async (mode) => {
      for (const testMode of [true, false]) {
        const scope = { ...fixture.scope, testMode };
        const { customerId } = await createCustomer(fixture.context, scope, nobody);
        const request = sessionRequestOf(requestMessage({ mode, customerId, ...partsOf[mode] }));
        const session = await createSession(fixture.context, callIn(scope), request);
        const url = session.details.redirectUrl ?? '';
        expect(url).toMatch(/^https:\/\/pay\.example\/pay\/[\w-]{85}$/);
        const subject = { accountId: scope.accountId, testMode, id: session.id };
        expect(tokens.subjectOf(url.slice('https://pay.example/pay/'.length))).toEqual(subject);
        const read = await loadSession(fixture.database, scope, session.id);
        expect(read && sessionMessage(scope, read).redirectUrl).toBe(url);
      }
    },
  );

  test('is null for a session in mode off_session: no shopper opens it [D14.80]', async () => {
    const session = await fixture.session({ mode: 'off_session' });
    expect(session.details.redirectUrl).toBeUndefined();
  });
});

const nobody = {
  ...{ firstName: null, lastName: null, email: null, phone: null, employer: null, shipping: null },
  ...{ metadata: {}, testClockId: null },
};

const partsOf: Record<string, Parameters<Fixture['session']>[0]> = {
  payment: {},
  subscription: { lines: [line({ unitAmount: 1000, recurring: true })] },
  setup: { lines: [] },
};

describe('the settings of checkout pages', () => {
  const read = (url: string, stage = 'production') =>
    readEnvironment({ ELIGO_ENV: stage, ELIGO_PUBLIC_URL: url, ELIGO_PAGE_KEY: 'k'.repeat(32) }, readPageUrls);
  const subject = { accountId: 'facct_01', testMode: true };

  test.each([
    'https://pay.example',
    'https://pay.example/',
    'https://shop.example/eligo/',
    'http://localhost:8080',
    'http://127.0.0.1:8080',
  ])('%s is a public URL in production, with or without a slash at its end [D14.80]', (url) => {
    expect(read(url).urlOf(subject, 'fcs_01')).toContain(`${url.replace(/\/$/, '')}/pay/`);
  });

  test.each([
    'http://pay.example',
    'http://localhost.example',
    'https://pay.example/?a=b',
    'https://pay.example/#a',
    'ftp://pay.example',
    'pay',
  ])('%s is refused in production, because a token in it could be read or lost [D14.80]', (url) => {
    expect(() => read(url)).toThrow('ELIGO_PUBLIC_URL must be');
  });

  test('both variables are required, and a short key is refused without being shown', () => {
    expect(() => readEnvironment({}, readPageUrls)).toThrow(
      /ELIGO_PUBLIC_URL is missing[\s\S]*ELIGO_PAGE_KEY is missing/,
    );
    const short = { ELIGO_PUBLIC_URL: 'https://pay.example', ELIGO_PAGE_KEY: 'too short a key' };
    expect(() => readEnvironment(short, readPageUrls)).toThrow(
      /^(?![\s\S]*too short a key)[\s\S]*at least 32 characters/,
    );
  });
});

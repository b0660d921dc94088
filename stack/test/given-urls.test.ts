import { expect, it } from 'vitest';
import { componentNames } from '../src/components.ts';
import { givenNatsUrls, natsVariableOf, refuseUrlsWithoutShared } from '../src/nats/given-urls.ts';

const shared = 'nats://all:secret@127.0.0.1:4222';

it('gives each component its own login to a NATS server that is not embedded, and says which share one [D14.320]', () => {
  const news: string[] = [];
  const environment = { CATALOG_NATS_URL: 'nats://catalog:own@127.0.0.1:4222', CHECKOUT_NATS_URL: '' };
  const urlOf = givenNatsUrls(shared, environment, (text) => news.push(text));
  expect([urlOf('catalog'), urlOf('checkout')]).toEqual([environment.CATALOG_NATS_URL, shared]);
  expect(news).toEqual([
    expect.stringMatching(/^checkout, billing, refunds, webhooks, gateway use the login of NATS_URL, /),
  ]);
  expect(news.join()).not.toContain('secret');
});

it('says nothing when no component shares its login to NATS [D14.320]', () => {
  const news: string[] = [];
  const all = Object.fromEntries(componentNames.map((name) => [natsVariableOf(name), `nats://${name}@h`]));
  const urlOf = givenNatsUrls(shared, all, (text) => news.push(text));
  expect(componentNames.map(urlOf)).toEqual(componentNames.map((name) => `nats://${name}@h`));
  expect(news).toEqual([]);
});

it('refuses logins of components without NATS_URL, and names no password [D14.320]', () => {
  const environment = {
    CATALOG_NATS_URL: 'nats://catalog:own@h',
    GATEWAY_NATS_URL: 'nats://gateway:own@h',
    NATS_URL: '',
  };
  expect(() => refuseUrlsWithoutShared(environment)).toThrow(
    /^CATALOG_NATS_URL, GATEWAY_NATS_URL need NATS_URL: set it to the same server, or remove them to use the embedded one$/,
  );
  expect(() => refuseUrlsWithoutShared({ CATALOG_NATS_URL: '' })).not.toThrow();
});

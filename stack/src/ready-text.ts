import type { Variables } from './environment.ts';
import type { Stack } from './stack.ts';

/** What `npm start` says when everything is up: where, with which keys, and three requests to try. */
export function readyText(stack: Stack, options: { split: boolean; live: Variables }): string {
  const { url, demo } = stack;
  const key = `-H 'Authorization: Bearer ${demo.testApiKey}'`;
  const json = "-H 'Content-Type: application/json'";
  return [
    '',
    `Eligo is ready at ${url} (${options.split ? 'one process per service' : 'all in one process'})`,
    '',
    `  account    ${demo.account}`,
    `  test key   ${demo.testApiKey}`,
    `  live key   ${demo.liveApiKey}`,
    ...(stack.urls.length > 1 ? [`  gateways   ${stack.urls.join(', ')}`] : []),
    `  processor  ${stack.processor.url} (the sandbox; ${liveProcessor(options.live)})`,
    `  state      ${stack.home.root} (logs in logs/, addresses and keys in stack.json)`,
    `  mails      ${mailsOf(stack, options.live)}`,
    '',
    'Try:',
    '',
    `  curl -s ${url}/v1/shipping_rates ${key} ${json} -d '{"shipping_rate":{"display_name":"Ground","amount":500}}'`,
    '',
    `  curl -s ${url}/v1/prices ${key} ${json} -d '{"price":{"unit_amount":2599,"product_data":{"name":"Thermometer","hsa_fsa_eligibility":"auto_substantiation"}}}'`,
    '',
    `  curl -s ${url}/v1/prices ${key}`,
    '',
  ].join('\n');
}

function mailsOf({ mailFolder }: Stack, { ELIGO_SMTP_URL, ELIGO_SMTP_URL_FILE }: Variables): string {
  if (mailFolder !== '') return `${mailFolder} (receipts and notices, a file each; nothing is sent)`;
  return ELIGO_SMTP_URL || ELIGO_SMTP_URL_FILE ? 'sent through ELIGO_SMTP_URL' : 'wait until ELIGO_SMTP_URL is set';
}

function liveProcessor(environment: Variables): string {
  if (environment.STRIPE_SECRET_KEY || environment.STRIPE_SECRET_KEY_FILE) return 'live mode charges through Stripe';
  if (environment.ELIGO_LIVE_PROCESSOR === 'sandbox') return 'live mode also charges here; no real money moves';
  return 'live mode has no processor';
}

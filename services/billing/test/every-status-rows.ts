import { readdirSync, readFileSync } from 'node:fs';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import { BillingService } from '@eligo/proto/billing/v1/billing';

/** How the text of the rows of a call begins; or why it has none. */
type Rows = { readonly start: string } | { readonly leftOut: string };

const start = (text: string): Rows => ({ start: text });
const leftOut = (reason: string): Rows => ({ leftOut: reason });

const makesOne = leftOut('makes a subscription, and knows none by its status');
const clocks = leftOut('moves or deletes a clock: the rows in which time passes');
const noSubscription = leftOut('changes no subscription and no invoice');

// The routes of subscriptions and invoices that are not read only.
const rowsOfRoutes: Readonly<Record<string, Rows>> = {
  'post /v1/subscriptions': makesOne,
  'patch /v1/subscriptions/{id}': start('`PATCH`'),
  'delete /v1/subscriptions/{id}': start('`DELETE`'),
  'post /v1/subscriptions/{id}/pause': start('`POST` `/pause`'),
  'post /v1/subscriptions/{id}/resume': start('`POST` `/resume`'),
  'post /v1/subscriptions/{id}/receipts/resend': start('`POST` `/receipts/resend`'),
  'post /v1/invoices/{id}/pay': start('its latest invoice: `/pay`'),
  'post /v1/invoices/{id}/void': start('its latest invoice: `/void`'),
};

// The calls of billing that are not read only, of routes and of the page of an invoice.
const rowsOfCalls: Readonly<Record<string, Rows>> = {
  CreateSubscription: makesOne,
  UpdateSubscription: start('`PATCH`'),
  PauseSubscription: start('`POST` `/pause`'),
  ResumeSubscription: start('`POST` `/resume`'),
  CancelSubscription: start('`DELETE`'),
  PayInvoice: start('its latest invoice: `/pay`'),
  VoidInvoice: start('its latest invoice: `/void`'),
  PayInvoiceOnPage: start('the page of its latest invoice, with a card'),
  ResumeInvoicePayment: start('the page of its latest invoice, which asks'),
  ResendReceipts: start('`POST` `/receipts/resend`'),
  CreateTestClock: clocks,
  AdvanceTestClock: clocks,
  DeleteTestClock: clocks,
  RecordAccountFeatures: noSubscription,
  RecordShopName: noSubscription,
  RecordTimeZone: noSubscription,
};

// What events and time do.
const rowsOfFiles: Readonly<Record<string, Rows>> = {
  'consumers/card-set-ups.ts': start('its customer sets up a card'),
  'consumers/card-updates.ts': start('the network replaces its card'),
  'consumers/charge-authentications.ts': leftOut(
    'settles a charge that a bank holds up, of one status: awaited-customers.ts',
  ),
  'consumers/issue-receipts.ts': noSubscription,
  'consumers/subscription-start.ts': makesOne,
  'jobs/run-due.ts': start('its period, trial, 23 hours or last try ends'),
  'jobs/finish-clocks.ts': clocks,
  'jobs/prune-keys.ts': noSubscription,
  'jobs/send-mails.ts': noSubscription,
  'jobs/settle-catalog-tasks.ts': noSubscription,
};

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly enum?: readonly string[];
}

type Operation = {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
};

const root = new URL('../', import.meta.url);

/** What changes subscriptions or their invoices by the contract, by billing's calls and by its consumers and jobs, and is in no row; and what has rows, but is there no more. */
export function withoutRow(rows: readonly string[]): string[] {
  const lacks = (of: string, known: Rows | undefined, parts: readonly string[] = []) => {
    if (known === undefined) return [of];
    if ('leftOut' in known) return [];
    const own = rows.filter((row) => row.startsWith(known.start));
    if (own.length === 0) return [of];
    return parts.filter((part) => !own.some((row) => row.includes(`\`${part}\``))).map((part) => `${of} ${part}`);
  };
  const changes = routes();
  const methods = BillingService.methods
    .filter(({ idempotency }) => idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS)
    .map(({ name }) => name);
  const files = ['consumers', 'jobs'].flatMap((folder) =>
    readdirSync(new URL(`src/${folder}/`, root)).map((file) => `${folder}/${file}`),
  );
  const gone = (known: Readonly<Record<string, Rows>>, there: readonly string[]) =>
    Object.keys(known).filter((one) => !there.includes(one));
  return [
    ...changes.flatMap(({ route, fields }) => lacks(route, rowsOfRoutes[route], fields)),
    ...methods.flatMap((name) => lacks(name, rowsOfCalls[name])),
    ...files.flatMap((file) => lacks(file, rowsOfFiles[file])),
    ...gone(
      rowsOfRoutes,
      changes.map(({ route }) => route),
    ),
    ...gone(rowsOfCalls, methods),
    ...gone(rowsOfFiles, files),
  ];
}

/** The routes of subscriptions and invoices that are not read only, each with the fields of its body, and with the values of those that are lists of names. */
function routes(): { readonly route: string; readonly fields: readonly string[] }[] {
  const text = readFileSync(new URL('../../docs/openapi.json', root), 'utf8');
  const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, Operation>> };
  return Object.entries(paths)
    .filter(([path]) => /\/(subscriptions|invoices)(\/|$)/.test(path))
    .flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([method]) => method !== 'get')
        .map(([method, { requestBody }]) => {
          const schemas = Object.values(requestBody?.content ?? {}).map(({ schema }) => schema);
          return { route: `${method} ${path}`, fields: schemas.flatMap(fieldsOf) };
        }),
    );
}

// Of a body: an object in its envelope.
function fieldsOf({ properties = {} }: Schema): string[] {
  const fields = Object.values(properties).flatMap((envelope) => Object.entries(envelope.properties ?? {}));
  return fields.flatMap(([name, { items }]) => [name, ...(items?.enum ?? [])]);
}

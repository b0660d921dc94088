export { hasCardNumber, isCardNumber } from './card-number.ts';
export {
  type ExpandableKind,
  type Expansion,
  expandKeysOf,
  expansionOf,
  noExpansion,
  type Reference,
  type References,
} from './expansion.ts';
export { notFoundCodeOf } from './fields.ts';
export type { Json, JsonObject } from './json.ts';
export { limits } from './limits.ts';
export { codesOf, openapi, refusalsOf } from './openapi.ts';
export { type PageShop, renderPage } from './page/checkout-page.ts';
export { renderInvoicePage } from './page/invoice-page.ts';
export {
  type PageLetter,
  type PagePayment,
  type PageSchema,
  pageAuthenticationSchema,
  pageLetterSchema,
  pagePaymentSchema,
  pagePromoCodeSchema,
} from './page/page-body.ts';
export type {
  PageAuthentication,
  PageLine,
  PageState,
  PageView,
  SandboxFields,
  StripeFields,
} from './page/page-view.ts';
export type { PageQuery } from './query.ts';
export { type MessageOf, type RecordKind, type RecordName, records } from './records.ts';
export { renderEvaluatedItem } from './resources/eligibility.ts';
export type { FileRecord } from './resources/file.ts';
export { renderConsumerInvoice } from './resources/invoice.ts';
export { renderReconciled } from './resources/reconciliation.ts';
export { renderAllocation } from './resources/refund.ts';
export { renderTimeline } from './resources/session-timeline.ts';
export { type RenderedSubstantiation, renderSubstantiation } from './resources/substantiation.ts';
export type { Deprecation, IdempotencyPolicy, Method, Owner, Route, RouteBody } from './route.ts';
export { evidenceFields } from './routes/disputes.ts';
export { mostReportDays } from './routes/reports.ts';
export { allRoutes, readScopeOf, routes, scopeOf, scopes } from './routes.ts';
export { screen } from './screen.ts';
export { isoTime, parseTime, unixSeconds } from './times.ts';
export { fieldNamesOf, type Tolerance, toleranceOf } from './tolerance.ts';
export { violationsOf } from './violations.ts';
export {
  type PublicEventType,
  publicEvents,
  publicEventTypes,
  renderEvent,
} from './webhook-events.ts';

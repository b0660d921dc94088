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
export { codesOf, openapi } from './openapi.ts';
export { type PageShop, renderPage } from './page/checkout-page.ts';
export { type PagePayment, pagePaymentSchema } from './page/page-body.ts';
export type { PageLine, PageState, PageView } from './page/page-view.ts';
export type { PageQuery } from './query.ts';
export { type MessageOf, type RecordKind, type RecordName, records } from './records.ts';
export { renderEvaluatedItem } from './resources/eligibility.ts';
export { renderConsumerInvoice } from './resources/invoice.ts';
export { renderAllocation } from './resources/refund.ts';
export type { Deprecation, IdempotencyPolicy, Method, Owner, Route, RouteBody } from './route.ts';
export { allRoutes, routes, scopeOf, scopes } from './routes.ts';
export { isCardNumber, screen } from './screen.ts';
export { isoTime, parseTime, unixSeconds } from './times.ts';
export { fieldNamesOf, type Tolerance, toleranceOf } from './tolerance.ts';
export { violationsOf } from './violations.ts';
export {
  type PublicEventType,
  publicEvents,
  publicEventTypes,
  renderEvent,
} from './webhook-events.ts';

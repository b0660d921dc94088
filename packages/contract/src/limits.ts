/** The bounds of what a request may hold (interface, Limits; decisions 4, 10 and 13). */
export const limits = {
  bodyBytes: 1_048_576,
  jsonDepth: 32,
  jsonKeys: 20_000,
  /** Characters of a text that has no bound of its own. */
  textLength: 65_536,
  shortTextLength: 500,
  urlLength: 2_048,
  metadataKeys: 50,
  metadataKeyLength: 40,
  metadataValueLength: 500,
  /** Of one amount. Together with quantity and lineItems it keeps every sum over a cart within the safe integers; checkout bounds the total. */
  amountCents: 999_999_999,
  /** What a column of nutrients holds before the point. */
  decimal: 999_999_999,
  quantity: 50_000,
  lineItems: 100,
  discounts: 500,
  fees: 100,
  captureLines: 500,
  refundLines: 500,
  refundPaymentMethods: 10,
  lookupKeys: 10,
  listLimit: 100,
  offset: 10_000,
  invoiceIds: 100,
  subscriptionItems: 20,
  eligibilityItems: 100,
  webhookEvents: 100,
  /** The processor's, for one field of a dispute's evidence and for all together. */
  evidenceTextLength: 20_000,
  evidenceLength: 150_000,
  idempotencyKeyLength: 255,
  fileBytes: 10_000_000,
} as const;

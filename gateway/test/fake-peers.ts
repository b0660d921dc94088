import type { DescMethod, DescService, Message } from '@bufbuild/protobuf';
import { notFoundCodeOf } from '@eligo/contract';
import { type SampleMessages, sampleMessages } from '@eligo/contract/samples';
import { Failure } from '@eligo/failures';
import { BillingService } from '@eligo/proto/billing/v1/billing';
import { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import { HealthService } from '@eligo/proto/health/v1/health';
import { RefundsService } from '@eligo/proto/refunds/v1/refunds';
import { WebhooksService } from '@eligo/proto/webhooks/v1/webhooks';
import {
  type Call,
  componentOf,
  type Identity,
  type Implementation,
  implement,
  inProcessTransport,
  rpcServer,
} from '@eligo/rpc';
import type { TransportTo } from '@eligo/service';
import { idKindOf } from '@eligo/values';

/** A call that a peer received. */
export interface SeenCall {
  readonly method: string;
  readonly request: Message & Record<string, unknown>;
  readonly call: Call;
}

/** Peers that stand where the network would: they know the sample records of one account in test mode, and answer any method with them. */
export interface FakePeers {
  readonly transportTo: TransportTo;
  readonly samples: SampleMessages;
  /** Every call since it was last emptied. */
  readonly seen: SeenCall[];
  /** Answers a method with this from now on, until `restore`. */
  answer(method: string, by: (request: SeenCall['request'], call: Call) => unknown): void;
  restore(): void;
}

const toldByJobs = ['recordHealthCardStatement', 'recordAccountFeatures', 'recordShopName', 'recordTimeZone'];

export function fakePeers(accountId: string, identityOf: (name: string) => Identity): FakePeers {
  const samples = sampleMessages({ accountId });
  const seen: SeenCall[] = [];
  const overrides = new Map<string, (request: SeenCall['request'], call: Call) => unknown>();
  const services = [CatalogService, CheckoutService, BillingService, RefundsService, WebhooksService];
  const transports = new Map(
    services.map((service) => {
      const handlers = [implement(service, implementationOf(service)), healthOf(componentOf(service))];
      const server = rpcServer({ handlers, identity: identityOf(componentOf(service)) });
      return [componentOf(service), inProcessTransport(server, { encode: true })];
    }),
  );

  // Answered as `catalog.check`: every component has the method.
  function healthOf(component: string) {
    return implement(HealthService, {
      async check(request, call) {
        const override = overrides.get(`${component}.check`);
        return (override?.(request as SeenCall['request'], call) as { status: string } | undefined) ?? { status: 'ok' };
      },
    });
  }

  function implementationOf<Service extends DescService>(service: Service): Implementation<Service> {
    const methods = service.methods.map((method) => [method.localName, handlerOf(method)] as const);
    return Object.fromEntries(methods) as Implementation<Service>;
  }

  function handlerOf(method: DescMethod) {
    const answer = (request: Message, call: Call) => {
      // Jobs of the gateway call these, at any time.
      if (toldByJobs.includes(method.localName)) return {};
      const asked = request as SeenCall['request'];
      seen.push({ method: method.localName, request: asked, call });
      const override = overrides.get(method.localName);
      if (override !== undefined) return override(asked, call);
      assertKnown(samples, accountId, asked, call);
      return answerOf(samples, method, asked);
    };
    if (method.methodKind === 'unary') return async (request: Message, call: Call) => answer(request, call);
    return async function* stream(request: Message, call: Call) {
      yield* (await answer(request, call)) as Iterable<unknown>;
    };
  }

  return {
    samples,
    seen,
    transportTo(callee) {
      const transport = transports.get(callee);
      if (transport === undefined) throw new Error(`there is no peer ${callee}`);
      return transport;
    },
    answer: (method, by) => overrides.set(method, by),
    restore: () => overrides.clear(),
  };
}

/** The identifiers of the samples, by the kind of record that a path names. */
export function idsOf(samples: SampleMessages) {
  return {
    balance_transaction: samples.balance_transaction.balanceTransactionId,
    charge: samples.charge.chargeId,
    checkout_session: samples.checkout_session.checkoutSessionId,
    coupon: samples.coupon.couponId,
    customer: samples.customer.customerId,
    dispute: samples.dispute.disputeId,
    event: samples.event.eventId,
    invoice: samples.invoice.invoiceId,
    capture: samples.capture.captureId,
    letter: samples.letter.letterId,
    payment_intent: samples.payment_intent.paymentIntentId,
    payment_link: samples.payment_link.paymentLinkId,
    payment_method: samples.payment_method.paymentMethodId,
    payout: samples.payout.payoutId,
    price: samples.price.priceId,
    product: samples.product.productId,
    product_component: samples.product_component.componentId,
    promo_code: samples.promo_code.promoCodeId,
    receipt: samples.receipt.receiptId,
    refund: samples.refund.refundId,
    setup_intent: samples.setup_intent.setupIntentId,
    shipping_rate: samples.shipping_rate.shippingRateId,
    subscription: samples.subscription.subscriptionId,
    test_clock: samples.test_clock.testClockId,
    webhook_endpoint: samples.webhook.webhookId,
  };
}

// What the request names must be a sample, and the caller its account in test mode: so a peer refuses what is foreign.
function assertKnown(samples: SampleMessages, accountId: string, request: SeenCall['request'], call: Call): void {
  const known = new Set<string>(Object.values(idsOf(samples)));
  const isOwner = call.scope.accountId === accountId && call.scope.testMode;
  for (const name of ['id', 'sessionId', 'subscriptionId', 'webhookId', 'customerId']) {
    const id = request[name];
    if (typeof id !== 'string' || id === '' || (isOwner && known.has(id))) continue;
    // Only a confirm's path reaches its service when it has no identifier's form.
    throw new Failure(notFoundCodeOf(idKindOf(id) ?? 'checkout_session'));
  }
}

function answerOf(samples: SampleMessages, method: DescMethod, request: SeenCall['request']): unknown {
  const { checkout_session: session, payment_intent: paymentIntent, refund } = samples;
  const answers: Record<string, unknown> = {
    AcceptProcessorEventResponse: {},
    Acknowledgement: {},
    BalanceTransaction: samples.balance_transaction,
    BalanceTransactionList: { balanceTransactions: [samples.balance_transaction] },
    Charge: samples.charge,
    ChargeList: { charges: [samples.charge] },
    CheckoutSession: session,
    Component: samples.product_component,
    ComponentList: { components: [samples.product_component] },
    ConfirmSessionResponse: { session, paymentIntent },
    Coupon: samples.coupon,
    CouponList: { coupons: [samples.coupon] },
    Customer: samples.customer,
    CustomerList: { customers: [samples.customer] },
    Delivery: samples.delivery,
    DeliveryList: { deliveries: [samples.delivery] },
    Dispute: samples.dispute,
    DisputeList: { disputes: [samples.dispute] },
    Endpoint: samples.webhook,
    EndpointList: { webhooks: [samples.webhook] },
    EvaluateEligibilityResponse: { items: (request.items as unknown[] | undefined)?.map(() => evaluated) ?? [] },
    Invoice: samples.invoice,
    InvoiceStatement: { invoice: samples.invoice, checkoutSessionId: session.checkoutSessionId },
    InvoiceList: { invoices: [samples.invoice] },
    Capture: samples.capture,
    CaptureList: { captures: [samples.capture] },
    Letter: samples.letter,
    LetterList: { letters: [samples.letter] },
    SessionTimeline: { entries: [timelineEntryOf(samples)] },
    EventsOfRecords: { events: [eventOfRecordOf(samples)] },
    LineItemList: { lineItems: [samples.line_item] },
    PaymentIntent: paymentIntent,
    PaymentIntentList: { paymentIntents: [paymentIntent] },
    PaymentLink: samples.payment_link,
    PaymentLinkList: { paymentLinks: [samples.payment_link] },
    PaymentMethod: samples.payment_method,
    PaymentMethodList: { paymentMethods: [samples.payment_method] },
    Payout: samples.payout,
    PayoutList: { payouts: [samples.payout] },
    PreviewCaptureResponse: { allocations: [allocationOf(samples)] },
    PreviewRefundResponse: { allocations: [allocationOf(samples)] },
    Price: samples.price,
    PriceList: { prices: [samples.price] },
    Product: samples.product,
    ProductList: { products: [samples.product] },
    PromoCode: samples.promo_code,
    PromoCodeList: { promoCodes: [samples.promo_code] },
    PublicEvent: samples.event,
    PublicEventList: { events: [samples.event] },
    Receipt: samples.receipt,
    ReceiptDocument: { html: '<p>Thank you</p>', pdf: new Uint8Array([37, 80, 68, 70]) },
    ReceiptList: { receipts: [samples.receipt] },
    ReconciliationItem: reconciliationOf(samples),
    Refund: refund,
    RefundList: { refunds: [refund] },
    ResendReceiptsResponse: { receiptIds: [samples.receipt.receiptId] },
    RefundSessionResponse: { session, refund },
    SessionListItem: [
      { item: { case: 'session', value: session } },
      { item: { case: 'end', value: { hasMore: false } } },
    ],
    SetupIntent: samples.setup_intent,
    Substantiation: substantiationOf(samples),
    SetupIntentList: { setupIntents: [samples.setup_intent] },
    ShippingRate: samples.shipping_rate,
    ShippingRateList: { shippingRates: [samples.shipping_rate] },
    Subscription: samples.subscription,
    SubscriptionList: { subscriptions: [samples.subscription] },
    TestClock: samples.test_clock,
    TestClockList: { testClocks: [samples.test_clock] },
  };
  const answer = answers[method.output.name];
  if (answer === undefined) throw new Error(`the fake peers have no ${method.output.name}`);
  return answer;
}

function timelineEntryOf({ letter, checkout_session: session }: SampleMessages) {
  const { letterId: recordId, createdAtMs: atMs } = letter;
  return { atMs, type: 'letter.denied', recordId, status: 'denied', amountCents: session.amountTotalCents };
}

function eventOfRecordOf({ delivery, letter }: SampleMessages) {
  const { eventId, eventType } = delivery;
  return { eventId, eventType, eventDtMs: letter.createdAtMs, deliveries: [delivery] };
}

const evaluated = {
  decision: { hsaFsaEligibility: 'auto_substantiation', rule: 'product', rationale: 'set on the product' },
  amountEligibleCents: 1999n,
};

function substantiationOf(samples: SampleMessages) {
  const { checkout_session: session, line_item: line, letter, charge, payment_method: paymentMethod, refund } = samples;
  const movement = { paymentIntentId: charge.paymentIntentId, amountCents: 100n, atMs: charge.createdAtMs };
  const captures = [samples.capture.captureId, charge.chargeId].map((sourceId) => ({ ...movement, sourceId }));
  const refunds = [{ ...movement, sourceId: refund.refundId }];
  return {
    ...{ session, decidedAtMs: charge.createdAtMs, foodPolicyVersion: '3', hasMoreRefunds: false },
    lines: [{ line, letter, captures, refunds, amountCapturedCents: 200n }, { line }],
    payments: [{ leg: 'health', charge, paymentMethod }],
  };
}

function reconciliationOf({ balance_transaction: transaction, payout }: SampleMessages) {
  const place = { processor: 'sandbox', processorAccount: 'acct_1' };
  const amounts = { amountCents: 100n, feeCents: 3n, netCents: 97n };
  const { balanceTransactionId } = transaction;
  const named = { ...place, ...amounts, balanceTransactionId, processorTransactionId: 'txn_1', createdAtMs: 1n };
  const activity = { ...place, ...amounts, transactions: 1n };
  const changes = { openingCents: 0n, changeCents: 97n, closingCents: 97n };
  return [
    { case: 'day', value: { date: '2026-01-01', openingCents: 0n, closingCents: 0n } },
    { case: 'day', value: { date: '2026-01-02', ...changes } },
    { case: 'account', value: { ...place, ledgerAccount: 'processor_balance', ...changes } },
    { case: 'activity', value: { ...activity, cause: 'balance', type: 'charge', reportingCategory: 'charge' } },
    { case: 'activity', value: { ...activity, cause: 'journal', type: 'capture' } },
    { case: 'payout', value: { ...named, type: 'payout', payoutId: payout.payoutId, payoutStatus: 'paid' } },
    { case: 'suspense', value: { ...named, type: '=1+"1', suspenseCents: 97n } },
    { case: 'suspense', value: { ...named, type: 'stripe_fee', suspenseCents: 97n } },
  ].map((item) => ({ item }));
}

function allocationOf({ payment_method, payment_intent }: SampleMessages) {
  return {
    paymentIntentId: payment_intent.paymentIntentId,
    paymentMethodId: payment_method.paymentMethodId,
    last4: '0072',
    amountCents: 100n,
  };
}

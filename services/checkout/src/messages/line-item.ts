import { create } from '@bufbuild/protobuf';
import { EligibilityDecisionSchema, RecurringSchema } from '@eligo/proto/catalog/v1/catalog';
import { type LineItem, LineItemSchema } from '@eligo/proto/checkout/v1/checkout';
import { present } from '@eligo/values';
import type { LineStanding } from '../domain/line-standing.ts';
import type { SessionLine } from '../domain/session.ts';

/** The message of a session's line. */
export function lineItemMessage(line: SessionLine): LineItem {
  const message = create(LineItemSchema);
  message.lineItemId = line.id;
  message.priceId = line.priceId;
  message.productId = line.productId;
  message.quantity = BigInt(line.quantity);
  if (line.description !== null) message.description = line.description;
  message.unitAmountCents = BigInt(line.unitAmountCents);
  message.amountSubtotalCents = BigInt(line.amountSubtotalCents);
  message.amountDiscountCents = BigInt(line.amountDiscountCents);
  message.amountTaxCents = BigInt(line.amountTaxCents);
  message.amountShippingCents = BigInt(line.amountShippingCents);
  message.amountFeeCents = BigInt(line.amountFeeCents);
  message.amountTotalCents = BigInt(line.amountTotalCents);
  message.amountEligibleCents = BigInt(line.amountEligibleCents);
  message.amountRefundedCents = BigInt(line.amountRefundedCents);
  message.eligibility = create(EligibilityDecisionSchema, {
    rule: line.eligibilityRule,
    ruleVersion: line.eligibilityRuleVersion,
    rationale: line.rationale,
    ...present({ hsaFsaEligibility: line.eligibilityClass }),
  });
  if (line.recurring !== null) {
    message.recurring = create(RecurringSchema, {
      interval: line.recurring.interval,
      intervalCount: line.recurring.intervalCount,
      ...present({ trialPeriodDays: line.recurring.trialDays }),
    });
  }
  return message;
}

/** The same with what was captured, what open and lost disputes hold of it, and what of its letter fee is given back. */
export function lineStandingMessage(line: LineStanding): LineItem {
  const message = lineItemMessage(line);
  message.amountCapturedCents = BigInt(line.amountCapturedCents);
  message.amountDisputedCents = BigInt(line.amountDisputedCents);
  message.letterFeeCents = BigInt(line.letterFee?.wholeCents ?? 0);
  message.letterFeeToRefundCents = BigInt(line.letterFee?.pendingCents ?? 0);
  return message;
}

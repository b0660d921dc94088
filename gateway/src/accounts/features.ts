/** What can be turned on for an account (decisions 2). */
export const accountFeatures = ['food_eligibility', 'refund_payment_methods', 'receipts', 'partial_approvals'] as const;

export type AccountFeature = (typeof accountFeatures)[number];

export function isAccountFeature(name: string): name is AccountFeature {
  return (accountFeatures as readonly string[]).includes(name);
}

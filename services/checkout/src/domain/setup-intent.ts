/** A card's set-up for later use. */
export interface SetupIntent {
  readonly id: string;
  readonly status: string;
  readonly customerId: string | null;
  readonly paymentMethodId: string | null;
  readonly createdAt: Date;
}

/** A link that opens a session for each visit. */
export interface PaymentLink {
  readonly id: string;
  /** An inactive link opens no sessions. */
  readonly active: boolean;
  readonly mode: 'payment' | 'subscription';
  /** The JSON form of PaymentLinkTerms: what each of its sessions is created from. */
  readonly terms: unknown;
  /** Each of its sessions starts with a copy. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: Date;
}

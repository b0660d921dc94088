/** Where something is sent; every part may be missing, as storefronts send them. */
export interface Address {
  readonly shippingAddressId?: string;
  readonly line1?: string;
  readonly line2?: string;
  readonly city?: string;
  readonly state?: string;
  readonly postalCode?: string;
  readonly country?: string;
}

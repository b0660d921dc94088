/** Where an order may be sent, by the two letters of countries: to those of its shop, and to that of the address that the shop gave. */
export function shippingCountriesOf(ofShop: readonly string[], given: string | undefined): readonly string[] {
  return given !== undefined && /^[A-Z]{2}$/.test(given) && !ofShop.includes(given) ? [...ofShop, given] : ofShop;
}

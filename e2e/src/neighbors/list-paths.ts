import { allRoutes, fieldNamesOf, limits, type Route } from '@eligo/contract';

/** The record that the path of a list names, by the list's route. */
export type NamedInPaths = Readonly<Record<(typeof namingLists)[number], string>>;

/** Lists of what belongs to one record. */
export const namingLists = [
  'customers.list_payment_methods',
  'checkout_sessions.list_line_items',
  'consumer_invoices.list',
  'webhooks.list_deliveries',
] as const;

/** Every list of the contract. */
export function listRoutes(): readonly Route[] {
  return allRoutes.filter(({ query }) => query !== undefined && fieldNamesOf(query).includes('limit'));
}

/** The paths of all lists, with the largest page that each has. Throws for a list that names a record of which nothing is known. */
export function listPaths(
  named: NamedInPaths,
  queryOf: (route: Route) => string | undefined = () => '',
): readonly string[] {
  return listRoutes().flatMap((route) => {
    const query = queryOf(route);
    if (query === undefined) return [];
    const path = route.path.replace(/\{\w+\}/, () => {
      const id: string | undefined = (named as Readonly<Record<string, string>>)[route.id];
      if (id === undefined) throw new Error(`${route.id} names a record that is not seeded`);
      return id;
    });
    // Sessions are listed without a page limit.
    return [`${path}?limit=${route.streamed ? 1_000_000 : limits.listLimit}${query}`];
  });
}

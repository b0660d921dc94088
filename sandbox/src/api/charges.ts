import type { Parameters } from '../http/parameters.ts';
import { shape } from '../shapes/shape.ts';
import { type Call, listShape, pageQuery, type Route } from './route.ts';

export const chargeRoutes: Route[] = [
  { method: 'GET', path: '/v1/charges', call: 'charges.list', prepare: listCharges },
  { method: 'GET', path: '/v1/charges/:id', call: 'charges.retrieve', prepare: retrieveCharge },
];

function listCharges(parameters: Parameters) {
  const query = { ...pageQuery(parameters), parent: parameters.text('payment_intent') };
  const customer = parameters.text('customer');
  parameters.finish();
  return (call: Call) => {
    const page = call.records.page('charge', call.account, query);
    const records =
      customer === undefined ? page.records : page.records.filter((charge) => charge.customer === customer);
    return listShape<'charge'>('/v1/charges', { ...page, records }, (record) => shape('charge', record));
  };
}

function retrieveCharge(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => shape('charge', call.records.need('charge', call.account, call.id));
}

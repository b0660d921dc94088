import { renderSubstantiation, routes } from '@eligo/contract';
import { type Binding, bind } from '../bind.ts';
import { FileAnswer } from '../http/api-request.ts';
import type { Peers } from '../peers.ts';
import { substantiationPdf } from '../reports/substantiation-pdf.ts';

/** The proof of a session's eligibility: checkout's record, with the names and codes of the products from the catalog. */
export function substantiationBindings({ checkout, catalog }: Peers): Binding[] {
  return [
    bind(routes.checkoutSessions.getSubstantiation, async ({ id, query, call }) => {
      const proof = await checkout.getSubstantiation({ id }, call);
      const ids = [...new Set(proof.lines.flatMap(({ line }) => line?.productId ?? []))];
      const { products } = ids.length === 0 ? { products: [] } : await catalog.batchGetProducts({ ids }, call);
      const byId = new Map(products.map((product) => [product.productId, product]));
      const substantiation = renderSubstantiation(proof, byId);
      if (query.format === 'json') return { substantiation };
      const pdf = await substantiationPdf(substantiation);
      const file = { type: 'application/pdf', filename: `substantiation-${id}.pdf`, sizeBytes: pdf.length };
      return new FileAnswer({ ...file, pieces: wholeOf(pdf) });
    }),
  ];
}

async function* wholeOf(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
}

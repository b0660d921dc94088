import { type RenderedSubstantiation, renderSubstantiation, routes } from '@eligo/contract';
import type { CallOptions } from '@eligo/rpc';
import { type Binding, bind } from '../bind.ts';
import { FileAnswer } from '../http/api-request.ts';
import { assertScope } from '../http/authorize.ts';
import type { Peers } from '../peers.ts';
import { substantiationPdf } from '../reports/substantiation-pdf.ts';

/** The proof of a session's eligibility: checkout's record, with the names and codes of the products from the catalog. */
export function substantiationBindings({ checkout, catalog }: Peers): Binding[] {
  async function read(id: string, call: CallOptions): Promise<RenderedSubstantiation> {
    const proof = await checkout.getSubstantiation({ id }, call);
    const ids = [...new Set(proof.lines.flatMap(({ line }) => line?.productId ?? []))];
    const { products } = ids.length === 0 ? { products: [] } : await catalog.batchGetProducts({ ids }, call);
    return renderSubstantiation(proof, new Map(products.map((product) => [product.productId, product])));
  }

  return [
    bind(routes.checkoutSessions.getSubstantiation, async ({ id, key, query, call, turn }) => {
      const proof = await read(id, call);
      for (const scope of scopesOf(proof)) assertScope(key, scope);
      if (query.format === 'json') return { substantiation: proof };
      // A slow peer holds no turn.
      const pdf = await turn.runExpensive(() => substantiationPdf(proof, key.timeZone));
      return FileAnswer.of(pdf, { type: 'application/pdf', filename: `substantiation-${id}.pdf` });
    }),
  ];
}

// A proof with less in it proves nothing, so a key that may not read all of it gets none.
function scopesOf({ line_items: lines, payments }: RenderedSubstantiation): string[] {
  return [
    ...(lines.some(({ letter }) => letter !== null) ? ['letters_read'] : []),
    ...(lines.some(({ refunds }) => refunds.length > 0) ? ['refunds_read'] : []),
    ...(payments.some(({ card }) => card !== null) ? ['payment_methods_read'] : []),
  ];
}

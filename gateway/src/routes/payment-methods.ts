import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import type { Peers } from '../peers.ts';

export function paymentMethodBindings({ checkout }: Peers, answers: Answers): Binding[] {
  const { get, update, attach, detach } = routes.paymentMethods;
  return [
    bind(get, async (request) =>
      answers.one(request, 'payment_method', await checkout.getPaymentMethod({ id: request.id }, request.call)),
    ),
    bind(update, async (request) => {
      const message = { id: request.id, ...given({ hsaFsa: request.body.card?.hsa_fsa }) };
      return answers.one(request, 'payment_method', await checkout.updatePaymentMethod(message, request.call));
    }),
    bind(attach, async (request) => {
      const message = { id: request.id, customerId: request.body.customer };
      return answers.one(request, 'payment_method', await checkout.attachPaymentMethod(message, request.call));
    }),
    bind(detach, async (request) =>
      answers.one(request, 'payment_method', await checkout.detachPaymentMethod({ id: request.id }, request.call)),
    ),
  ];
}

import type { SubscriptionItem } from './subscription.ts';

/** An item as a partner asks for it: all items are listed, each price once. Without a quantity an item keeps its own. */
export interface AskedItem {
  readonly priceId: string;
  readonly quantity: number | null;
}

/** An item that is asked for beside the one that it was. */
export interface MatchedItem {
  readonly item: SubscriptionItem | null;
  readonly priceId: string;
  readonly quantity: number;
  readonly isNewPrice: boolean;
}

/**
 * Which item becomes which; undefined if all stay as they are. An item is found by its price. The others that are asked for take the places of those that are not, in
 * their order: their price changes. What is then left over is new or removed.
 */
export function matchItems(
  items: readonly SubscriptionItem[],
  asked: readonly AskedItem[],
): { readonly items: readonly MatchedItem[]; readonly removed: readonly SubscriptionItem[] } | undefined {
  const free = new Set(items);
  const kept = asked.map(({ priceId }) => {
    const item = items.find((one) => one.priceId === priceId && free.has(one));
    if (item !== undefined) free.delete(item);
    return item;
  });
  const matched = asked.map(({ priceId, quantity }, index): MatchedItem => {
    const own = kept[index];
    const item = own ?? [...free][0] ?? null;
    if (own === undefined && item !== null) free.delete(item);
    return { item, priceId, quantity: quantity ?? item?.quantity ?? 1, isNewPrice: own === undefined };
  });
  const isSame = ({ item, quantity, isNewPrice }: MatchedItem) => !isNewPrice && quantity === item?.quantity;
  return free.size === 0 && matched.every(isSame) ? undefined : { items: matched, removed: [...free] };
}

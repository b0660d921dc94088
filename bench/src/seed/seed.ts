import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import type { Sizes } from '../options.ts';
import type { StackProcess } from '../stack-process.ts';
import { type BenchAccount, makeAccounts } from './accounts.ts';
import { seedPrices } from './prices.ts';
import { type Renewals, seedRenewals } from './renewals.ts';
import { type BenchShop, openBenchShop } from './shop.ts';

interface Seeded {
  accounts: Record<string, BenchAccount>;
  shop?: BenchShop;
  renewals?: Renewals;
}

/** What the operations work on, made when it is first asked for and written down in the home, so that a kept home has it again. */
export class Seed {
  readonly #file: string;
  readonly #sizes: Sizes;
  readonly #seeded: Seeded;

  constructor(home: string, sizes: Sizes) {
    this.#file = join(home, 'bench.json');
    this.#sizes = sizes;
    this.#seeded = existsSync(this.#file) ? (JSON.parse(readFileSync(this.#file, 'utf8')) as Seeded) : { accounts: {} };
  }

  async priceAccount(stack: StackProcess, size: 0 | 1 | 2): Promise<BenchAccount> {
    const count = this.#sizes.prices[size];
    const known = this.#seeded.accounts[count];
    if (known !== undefined) return known;
    const [account] = await makeAccounts(stack.roleUrls.eligo_gateway ?? '', 1);
    if (account === undefined) throw new Error('no account was made');
    await seedPrices(stack.file.postgres, account.accountId, count);
    this.#seeded.accounts[count] = account;
    this.#save();
    return account;
  }

  async shop(stack: StackProcess): Promise<BenchShop> {
    const { connections } = this.#sizes;
    const known = this.#seeded.shop;
    if (known?.shoppers.length === connections) return known;
    const shop = await openBenchShop(stack.api(), connections);
    this.#seeded.shop = shop;
    this.#save();
    return shop;
  }

  async renewals(stack: StackProcess, postgres: pg.Pool): Promise<Renewals> {
    const count = this.#sizes.renewals[1];
    const known = this.#seeded.renewals;
    if (known !== undefined && known.count >= count) return known;
    const renewals = await seedRenewals(stack, postgres, count);
    this.#seeded.renewals = renewals;
    this.#save();
    return renewals;
  }

  #save(): void {
    writeFileSync(this.#file, JSON.stringify(this.#seeded), { mode: 0o600 });
  }
}

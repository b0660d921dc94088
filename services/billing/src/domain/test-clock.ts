/** A clock that stands still until a test advances it. */
export interface TestClock {
  readonly id: string;
  readonly name: string | null;
  readonly frozenTime: Date;
  readonly status: 'ready' | 'advancing';
  readonly createdAt: Date;
}

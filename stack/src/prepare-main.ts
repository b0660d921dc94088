// The process of prepare-apart.ts: loads the components' code at once, and prepares what its parent tells it to.
import { loadCompositions } from './compositions.ts';
import { type Preparation, prepareStack } from './preparation.ts';
import type { Prepared } from './prepare-apart.ts';

process.once('disconnect', () => process.exit());
process.once('message', (preparation) => {
  prepareStack(preparation as Preparation).then(
    (demo) => answer({ demo }),
    (error) => answer({ trouble: error instanceof Error ? error.message : String(error) }),
  );
});
await loadCompositions();

function answer(prepared: Prepared): void {
  process.send?.(prepared);
}

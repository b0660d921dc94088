// Loaded before the sandbox's own code, which knows nothing of Eligo: the sandbox holds 16 MB of its own afterwards instead of 20.
import { collectStartGarbage } from '@eligo/service/collect-start-garbage';

collectStartGarbage(2_000);

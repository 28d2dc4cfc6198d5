// Endo's client against the daemon. `node suite.mjs [PART OF A NAME]`, with ALMONER and ENDO_SUITE_FOLDER set.
import { run } from './harness.mjs';
import './bootstrap.mjs';
import './names.mjs';
import './mail.mjs';
import './asking.mjs';
import './bytes.mjs';
import './files.mjs';
import './follow.mjs';
import './wire.mjs';
import './gateway.mjs';
import './hosts.mjs';
import './timers.mjs';
import './modules.mjs';
import './life.mjs';
import './crash.mjs';

await run(process.argv[2]);

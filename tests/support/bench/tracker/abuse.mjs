// 100,000 hostile requests to every route of both Workers: see tests/support/abuse.mjs.

import { abuse } from '../../abuse.mjs';

export const measure = ({ requests, seed }) => abuse({ requests, seed });

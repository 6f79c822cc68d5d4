// The wizard of batches: its steps work as in every wizard. portal/live_panel.js fills the summary next to them.
import { inSteps } from "../portal/wizard.js";

inSteps(document.querySelector(".batch-wizard"));

"""What the tests share: how models are made (models), how results are compared (compare, by the table in tolerances; bounds of single
products in bounds), how a plan is edited (plans), what tests compile for and where that runs (targets, emulation), the command line tool and
where the build is (tool), which cases are drawn (sampling)."""

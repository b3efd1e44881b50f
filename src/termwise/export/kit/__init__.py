"""Programs of the query kit, which are copied into its folder and run without termwise."""

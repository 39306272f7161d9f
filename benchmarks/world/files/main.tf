terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
  }
}

variable "names" {
  description = "The machines."
  type        = list(string)
  default     = ["one", "two"]
}

/* Each machine
   gets a disk. */
resource "aws_instance" "web" {
  for_each      = toset(var.names)
  ami           = "ami-0123"
  instance_type = "t3.micro"
  user_data     = <<-EOF
    #!/bin/sh
    echo ${each.key} > /etc/name
    # no comment
    systemctl start orders
  EOF
  tags = {
    Name = each.key
    Team = "orders"
  }
  lifecycle {
    ignore_changes = [
      ami,
      tags,
    ]
  }
}

output "addresses" {
  value = [for each in aws_instance.web : each.public_ip]
}
